"""Whether the machines of a testbed file answer, and whether frames pass each of its links, both ways."""

import contextlib
from collections.abc import Iterator, Mapping

from msgspec import structs

from vtax.agent_api import StreamInterface
from vtax.doctor.check import Check, unusable
from vtax.inputs import InputError
from vtax.keys.frames import FrameSpec
from vtax.machine.bridge_netfilter import BridgeNetfilter, in_words
from vtax.machine.clock import clock_offset_ns
from vtax.machine.fix import leave_netfilter_out
from vtax.testbed.addressing import StreamAddresses, source_stream
from vtax.testbed.clocks import Clock
from vtax.testbed.host import Borrowed
from vtax.testbed.layout import shared_core
from vtax.testbed.link import EndPlace
from vtax.testbed.remote import SeveralMachines, TestbedFile
from vtax.testbed.remote.file import LinkKeys
from vtax.testbed.remote.machine import RemoteHost, RemoteMachine
from vtax.trial.failures import BUILD_FAILURES
from vtax.trial.frames.passage import Passage

MTU, LONGEST_FRAME_BYTES = 1500, 1514
FRAMES = FrameSpec(LONGEST_FRAME_BYTES)
MERGING = {"rx-lro": "lro", "rx-gro-hw": "rx-gro-hw"}
"""What a NIC does to frames before any kernel sees them, and what ethtool calls it."""
STREAM = StreamAddresses(0)
MACS = STREAM.source_mac, STREAM.sink_mac
"""Of the link's ends."""

Reached = Mapping[str, RemoteMachine | InputError]


def examine_testbed(file: TestbedFile) -> list[Check]:
    """A row for each machine and each link; interfaces are borrowed and given back, and 840 frames cross each link."""
    with SeveralMachines(file).attempt(file.machines) as reached:
        machines = [_machine(name, found) for name, found in reached.items()]
        return machines + [_link(link, reached) for link in file.links]


def _machine(name: str, found: RemoteMachine | InputError) -> Check:
    if isinstance(found, InputError):
        return Check("machines", name, False, str(found))
    facts = found.environment()
    clock = found.read_clock(found.exchange_clocks())
    offset_ms = (clock.ahead.ahead_ns + clock.time_of_day_ahead_ns - clock_offset_ns()) / 1e6
    cpus = ", ".join(f"{role} {' '.join(map(str, numbers))}" for role, numbers in found.cpus.items())
    shared = "; roles share CPUs" if shared_core(found.cpus) else ""
    control = f"control network at {found.control}; " if found.control else ""
    detail = (
        f"Linux {facts.kernel}, {facts.cpu_model}; CPUs: {cpus}{shared}; {control}"
        f"clock {offset_ms:+.1f} ms from this machine's (within {clock.ahead.error_ns / 1e6:.1f} ms){_chrony(clock)}"
        f"{_netfilter(facts.bridge_netfilter)}"
    )
    return Check("machines", name, True, detail)


def _chrony(clock: Clock) -> str:
    """What chrony says of its time of day."""
    if clock.time_of_day_error_ns is None:
        return ""
    return f", by chrony within {clock.time_of_day_error_ns / 1e6:.3f} ms of true time"


def _netfilter(found: BridgeNetfilter | None) -> str:
    """What the machine's own bridges spend time on, where they do: vtax leaves them as they are."""
    if not any((found or {}).values()):
        return ""
    return f"; its own bridges {in_words(found)}, vtax's do not; to end that there: {leave_netfilter_out()}"


def _link(link: LinkKeys, reached: Reached) -> Check:
    (one, near), (other, far) = link.plugs
    subject = f"{link.source} to {link.destination}"
    ends = reached[one], reached[other]
    missing = [name for name, found in zip((one, other), ends, strict=True) if isinstance(found, InputError)]
    if missing:
        return Check("links", subject, False, f"not tried: {' and '.join(missing)} cannot be reached")
    sides = [
        machine.host(name, far=False) for name, machine in zip(("near", "far"), _machines(ends), strict=True)
    ]
    try:
        with _joined(sides, (near, far)) as were:
            here, there = sides
            for passage in (_passage(here, there, MACS), _passage(there, here, MACS[::-1])):
                passage.await_ready(FRAMES, lambda: "")
    except BUILD_FAILURES as error:
        needs = (
            f"needs a cable between both, and nothing else that uses them; ip -br link on {one} and {other}"
        )
        return unusable("links", subject, str(error).strip().replace("\n", "; "), needs)
    merging = sorted(
        f"ethtool -K {interface} {short} off ({machine})"
        for machine, interface, was in ((one, near, were[0]), (other, far, were[1]))
        for offload, short in MERGING.items()
        if offload in was.offloads
    )
    if merging:
        problem = "frames arrive, but the NIC joins several to one, which then are forwarded as one"
        return unusable("links", subject, problem, f"needs {'; '.join(merging)}")
    mtus = " and ".join(str(was.mtu) for was in were)
    carried = f"frames of {LONGEST_FRAME_BYTES} bytes arrive both ways; MTU {mtus}, no NIC joins frames"
    return Check("links", subject, True, carried)


def _machines(ends: tuple[RemoteMachine | InputError, ...]) -> Iterator[RemoteMachine]:
    return (end for end in ends if isinstance(end, RemoteMachine))


@contextlib.contextmanager
def _joined(sides: list[RemoteHost], interfaces: tuple[str, str]) -> Iterator[list[Borrowed]]:
    """Both ends of a link in hosts with two agents each, until they are given back; as Host.borrow tells."""
    were: list[Borrowed] = []
    with contextlib.ExitStack() as closing:
        for side, interface, mac in zip(sides, interfaces, MACS, strict=True):
            side.create()
            closing.callback(side.close)
            were.append(side.borrow(interface, EndPlace("link0", mac), MTU))
            side.start_agent("source", "agents")
            side.start_agent("sink", "agents")
        yield were


def _passage(here: RemoteHost, there: RemoteHost, macs: tuple[str, str]) -> Passage:
    """One way over the link, between ends of these MACs."""
    passage, (own, towards) = Passage([(here, "source")], [(there, "sink")]), macs
    passage.open_sinks([StreamInterface(stream=STREAM.stream, interface="link0")])
    stream = source_stream(STREAM, "link0", towards, FRAMES, link_mbps=None)
    passage.open_sources([structs.replace(stream, source_mac=own)])
    return passage
