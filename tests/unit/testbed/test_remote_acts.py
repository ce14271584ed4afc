"""Methods asked for over a machine's stream: what goes over it comes out as the types of the signature."""

from typing import Any

import pytest
from msgspec import Raw, ValidationError

from vtax.agent_api import GuestNic, GuestStateAnswer
from vtax.platforms import Probe
from vtax.stages import Interface, Joint, Place
from vtax.testbed.accounts import CONTROLLER, Account
from vtax.testbed.addressing import Station
from vtax.testbed.cap import Cap
from vtax.testbed.end_acts import EndAct, SetAddress, ShapeHost, SwitchTo
from vtax.testbed.guest_state import GuestState
from vtax.testbed.host import Borrowed, Host, PortNic, Started
from vtax.testbed.link import EndPlace
from vtax.testbed.remote.acts import act_of
from vtax.testbed.remote.server import ACTS, MACHINE_ACTS, EndOf, MachineActs

END = EndPlace("in0", "02:00:00:00:00:01")
TAP = Interface("tap", Place("guestp0", "/run/netns/uut"))
GUEST_NIC = GuestNic(mac=END.mac, address="198.18.0.1/24", mtu=1500, neighbours=[])
ANSWER = GuestStateAnswer(interfaces=[], clock_offset_ns=-(2**63), oom_kills=None)


class Played:
    """Takes what it is asked, and answers so."""

    def __init__(self, answer: object) -> None:
        self._answer = answer
        self.given: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        def method(**given: object) -> object:
            self.given = given
            return self._answer

        return method


@pytest.mark.parametrize(
    ("method", "arguments", "answer"),
    [
        (Host.heirs, ({7: Account("guest", "vcpu 0")},), {7: Account("guest", "vcpu 0"), 9: CONTROLLER}),
        (Host.owners, (), {"threads": {12: Account.of_ingress("in0")}, "processes": {}}),
        (Host.joint, ("port-in", END.mac, "tap"), Joint(TAP, None)),
        (Host.borrow, ("eth1", END, 1500), Borrowed(9000, ["rx-lro"])),
        (Host.set_end, (END, SetAddress()), None),
        (Host.set_end, (END, ShapeHost(None, True, 1500)), None),
        (Host.set_end, (END, SwitchTo("trunk-in", [END.mac])), None),
        (
            Host.open_port,
            (
                "port-in",
                "bridge",
                END,
                [Station(END.mac, "198.18.0.2")],
                [],
                Cap(100.0, ["ether src x"], 1500),
            ),
            None,
        ),
        (
            Host.start_guest,
            (
                "guest",
                "qemu",
                Raw(b'{"vcpus":2}'),
                [PortNic(END.mac, "port-in", 1500)],
                ["pktgen"],
                [1],
                None,
            ),
            Started(0.5, ["pktgen"]),
        ),
        (Host.guest_state, ("guest",), GuestState.told(ANSWER, "login:")),
        (Host.guest_state, ("guest",), GuestState("ended")),
        (Host.bridge_netfilter, (), {"iptables": True}),
        (MachineActs.join, (EndOf("uut", "in0", END.mac), EndOf("source", "src0", END.mac), 1500), None),
        (MachineActs.prepare, ("lxc", Raw(b"{}"), ["nginx"]), Probe("kvm", {"a": 1, "b": True, "c": None})),
        (MachineActs.prepare, ("lxc", Raw(b"{}"), None), Probe("none", {"versions": ["1", "2"]})),
        (MachineActs.call, ("uut", "sink", "sink.open", Raw(b'{"a":1}'), 10.0), Raw(b'{"b":[2]}')),
    ],
)
def test_what_is_asked_and_answered_keeps_its_types(
    method: Any, arguments: tuple[Any, ...], answer: Any
) -> None:
    act, there = act_of(method), Played(answer)
    assert act.read(act.carry_out(there, act.question(*arguments))) == answer
    assert tuple(there.given.values())[: len(arguments)] == arguments


@pytest.mark.parametrize(
    "act", [SetAddress(), ShapeHost(1000.0, False, 1500, 4), SwitchTo("trunk-in", [END.mac])], ids=repr
)
def test_an_act_at_an_end_is_the_same_there(act: EndAct) -> None:
    there, asked = Played(None), act_of(Host.set_end)
    asked.carry_out(there, asked.question(END, act))
    assert there.given["act"] == act


def test_a_guests_nics_come_through() -> None:
    there, act = Played(Started(0.1, [])), act_of(Host.start_guest)
    act.carry_out(there, act.question("guest", "qemu", Raw(b"{}"), [], [], interfaces=[GUEST_NIC]))
    assert there.given["interfaces"] == [GUEST_NIC]


def test_every_act_has_types_that_go_over_a_stream() -> None:
    for of, names in ((Host, ACTS - {"is_beside"}), (MachineActs, MACHINE_ACTS)):
        for name in names:
            with pytest.raises(ValidationError, match=r"unknown field `more`|missing required field"):
                act_of(getattr(of, name)).carry_out(Played(None), Raw(b'{"more":1}'))
