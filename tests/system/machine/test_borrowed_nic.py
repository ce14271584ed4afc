"""Borrowed interfaces: what is in use is refused, and what was borrowed comes back as it was, byte for byte."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyroute2.ethtool.ioctl import IoctlEthtool

from tests.helpers.campaigns import vtax
from tests.helpers.paths import program
from vtax.machine.borrowed_nic import OWN, BorrowedInterface, borrow, problem_of
from vtax.machine.ingress import thread_ingress
from vtax.machine.namespace import Namespace, OwnedNamespace
from vtax.machine.offloads import send_whole, set_offload
from vtax.machine.ownership import OwnershipRecord

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

FLEETING = {"ifindex", "valid_life_time", "preferred_life_time"}
KILLED = """
import sys, time
from vtax.machine.borrowed_nic import borrow
from vtax.machine.namespace import Namespace
from vtax.machine.ownership import OwnershipRecord
run, interface = sys.argv[1:]
borrow(interface, Namespace(f"{run}-host"), 1400, OwnershipRecord(run), "in0", "02:00:00:00:00:77")
print("borrowed", flush=True)
time.sleep(600)
"""


def ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


@dataclass(frozen=True)
class Nic:
    """A veth's end, which is taken for a NIC; the other end is its cable."""

    name: str
    cable: str

    def state(self) -> dict[str, Any]:
        """All that tools show of it, once it is in operation and its addresses are settled."""
        deadline = time.monotonic() + 20
        while not self._is_settled():
            assert time.monotonic() < deadline, "it never became settled"
            time.sleep(0.02)
        shown = {
            "link": json.loads(ip("-d", "-j", "link", "show", "dev", self.name)),
            "addr": json.loads(ip("-d", "-j", "addr", "show", "dev", self.name)),
            "route": json.loads(ip("-d", "-j", "-4", "route", "show", "table", "all", "dev", self.name)),
            "route6": json.loads(ip("-d", "-j", "-6", "route", "show", "table", "all", "dev", self.name)),
            "qdisc": subprocess.run(
                ["tc", "qdisc", "show", "dev", self.name], check=True, capture_output=True, text=True
            ).stdout,
            "features": self.features(),
            "threaded": Path(f"/sys/class/net/{self.name}/threaded").read_text(),
            "settings": {
                f"{family}/{part}/{path.name}": path.read_text()
                for family in ("ipv4", "ipv6")
                for part in ("conf", "neigh")
                for path in Path(f"/proc/sys/net/{family}/{part}/{self.name}").iterdir()
                if path.name != "stable_secret"
            },
        }
        lasting: dict[str, Any] = without(shown, FLEETING)
        return lasting

    def _is_settled(self) -> bool:
        ((own,), (cable,)) = (
            json.loads(ip("-j", "addr", "show", "dev", end)) for end in (self.name, self.cable)
        )
        joined = "UP" in own["flags"] and "UP" in cable["flags"]
        return (own["operstate"] == "UP" or not joined) and not any(
            "tentative" in each for each in own["addr_info"]
        )

    def features(self) -> dict[str, tuple[bool, ...]]:
        """What `ethtool -k` shows."""
        with contextlib.closing(IoctlEthtool(self.name)) as ethtool:
            found = ethtool.get_features()
            looks = (found.is_available, found.is_requested, found.is_active, found.is_never_changed)
            return {name: tuple(bool(look(name)) for look in looks) for name in found.keys()}  # noqa: SIM118


def without(value: Any, names: set[str]) -> Any:
    if isinstance(value, dict):
        return {key: without(below, names) for key, below in value.items() if key not in names}
    return [without(below, names) for below in value] if isinstance(value, list) else value


@pytest.fixture
def nic() -> Iterator[Nic]:
    tag = uuid.uuid4().hex[:4]
    found = Nic(f"vt{tag}nic", f"vt{tag}cable")
    ip("link", "add", found.name, "type", "veth", "peer", "name", found.cable)
    try:
        yield found
    finally:
        ip("link", "del", found.cable)


@pytest.fixture
def record() -> Iterator[OwnershipRecord]:
    """That of a run with a host."""
    record = OwnershipRecord(f"vtax-test-{uuid.uuid4().hex[:6]}")
    record.open()
    host = Namespace(f"{record.run}-host")
    record.add(OwnedNamespace(host.name))
    host.create()
    yield record
    record.clean()
    assert not record.failed


def plain(nic: Nic) -> None:
    """Up, as most are that nobody configured."""
    ip("link", "set", nic.cable, "up")
    ip("link", "set", nic.name, "up")


def down(nic: Nic) -> None:
    """Down, and yet with an address."""
    ip("addr", "add", "169.254.7.7/16", "dev", nic.name, "scope", "link")


def unplugged(nic: Nic) -> None:
    """Up, at a cable whose other end is down."""
    ip("link", "set", nic.name, "up")


def rich(nic: Nic) -> None:
    """With something of everything that may be set."""
    ip("link", "set", nic.cable, "up")
    set_offload(OWN, nic.name, "tx-tcp-segmentation", False)
    set_offload(OWN, nic.name, "rx-gro", True)
    ip("link", "set", nic.name, "txqueuelen", "77", "alias", "to the lab", "mtu", "1400", "promisc", "on")
    ip("link", "set", nic.name, "address", "02:00:00:00:00:42", "group", "7", "addrgenmode", "none")
    ip("link", "property", "add", "dev", nic.name, "altname", f"{nic.name}-with-a-long-name")
    ip("link", "set", nic.name, "up", "arp", "off", "allmulticast", "on")
    Path(f"/sys/class/net/{nic.name}/threaded").write_text("1")
    for setting, value in {
        "ipv4/conf/{}/rp_filter": "2",
        "ipv6/conf/{}/accept_ra": "0",
        "ipv4/neigh/{}/base_reachable_time_ms": "12345",
    }.items():
        Path("/proc/sys/net", setting.format(nic.name)).write_text(value)
    ip(*f"addr add 169.254.7.7/16 brd 169.254.255.255 dev {nic.name} label {nic.name}:1 scope link".split())
    ip(*f"addr add fe80::42/64 dev {nic.name} metric 9".split())
    ip(*f"route add 169.254.9.0/24 dev {nic.name} scope link proto static metric 7 src 169.254.7.7".split())
    ip(*f"-6 route add fe80:0:0:9::/64 dev {nic.name} metric 11 proto static table 77".split())
    tbf = "root handle 5: tbf rate 8mbit burst 32k limit 10k"
    subprocess.run(["tc", "qdisc", "replace", "dev", nic.name, *tbf.split()], check=True)


def managed(nic: Nic) -> None:
    """With an address that runs out, and without the one that the kernel gives."""
    plain(nic)
    nic.state()
    ip("-6", "addr", "flush", "dev", nic.name)
    times = ["valid_lft", "5000", "preferred_lft", "3000", "noprefixroute"]
    ip("addr", "add", "fe80::1:2/64", "dev", nic.name, *times)


KINDS = [plain, down, unplugged, rich, managed]


def use(host: Namespace) -> None:
    """All that a host does to an interface."""
    thread_ingress(host, "in0", [min(os.sched_getaffinity(0))])
    send_whole(host, "in0")
    words = "qdisc replace dev in0 root handle 1: tbf rate 1mbit burst 16k limit 9k"
    subprocess.run(["nsenter", f"--net={host.path}", "tc", *words.split()], check=True)
    subprocess.run(
        ["nsenter", f"--net={host.path}", "ip", "addr", "add", "198.18.0.1/24", "dev", "in0"], check=True
    )


@pytest.mark.parametrize("kind", KINDS)
class TestAsItWas:
    def test_given_back(self, kind: Callable[[Nic], None], nic: Nic, record: OwnershipRecord) -> None:
        kind(nic)
        before = nic.state()
        host = Namespace(f"{record.run}-host")
        borrowed = borrow(nic.name, host, 1300, record, "in0", "02:00:00:00:00:77")
        use(host)
        borrowed.give_back()
        assert nic.state() == before
        assert not [entry for entry in record.entries() if isinstance(entry, BorrowedInterface)]

    def test_killed(self, kind: Callable[[Nic], None], nic: Nic, record: OwnershipRecord) -> None:
        kind(nic)
        before = nic.state()
        with subprocess.Popen(
            [sys.executable, "-c", KILLED, record.run, nic.name], stdout=subprocess.PIPE, text=True
        ) as taker:
            assert taker.stdout is not None
            assert taker.stdout.readline() == "borrowed\n"
            use(Namespace(f"{record.run}-host"))
            taker.send_signal(signal.SIGKILL)
        assert not Path(f"/sys/class/net/{nic.name}").exists()
        cleaned = vtax("clean")
        assert f"removed interface {nic.name}\n" in cleaned.stdout, cleaned.stderr
        assert nic.state() == before


@pytest.mark.parametrize("kind", [plain, rich])
def test_killed_as_it_is_taken_or_given_back(
    kind: Callable[[Nic], None], nic: Nic, record: OwnershipRecord
) -> None:
    """It is in its own namespace, and not as it was."""
    kind(nic)
    before = nic.state()
    borrowed = borrow(nic.name, Namespace(f"{record.run}-host"), 1300, record, "in0", "02:00:00:00:00:77")
    borrowed.give_back()
    record.add(borrowed.owned)
    assert not borrowed.owned.is_there()
    ip("link", "set", nic.name, "down", "mtu", "1280")
    assert borrowed.owned.is_there()
    record.clean()
    assert not record.failed
    assert nic.state() == before


def test_it_is_not_taken_to_another_namespace(nic: Nic, record: OwnershipRecord) -> None:
    """Where somebody cleans up in a namespace of theirs."""
    plain(nic)
    before, other = nic.state(), Namespace(f"{record.run}-other")
    borrow(nic.name, Namespace(f"{record.run}-host"), 1300, record, "in0")
    other.create()
    try:
        inside = ["nsenter", f"--net={other.path}", str(program()), "clean"]
        cleaned = subprocess.run(inside, check=False, capture_output=True, text=True)
    finally:
        other.remove()
    assert cleaned.returncode == 1
    why = f"interface {nic.name} is still there: OSError: it came from another network namespace"
    assert why in cleaned.stderr
    assert f"namespace {record.run}-host is still there: OSError: interface {nic.name} may need it" in (
        cleaned.stderr
    )
    record.clean()
    assert nic.state() == before


def test_what_is_given_back_is_its_owners_again(nic: Nic, record: OwnershipRecord) -> None:
    plain(nic)
    borrow(nic.name, Namespace(f"{record.run}-host"), 1300, record).give_back()
    ip("link", "set", nic.name, "mtu", "1280")
    record.clean()
    assert '"mtu":1280' in ip("-j", "link", "show", "dev", nic.name)


def test_one_that_cannot_be_moved_stays_as_it_is(nic: Nic, record: OwnershipRecord) -> None:
    rich(nic)
    before = nic.state()
    with pytest.raises(OSError, match="No such file"):
        borrow(nic.name, Namespace("vtax-test-nowhere"), 1300, record)
    assert nic.state() == before


def addressed(nic: Nic) -> None:
    ip("addr", "add", "192.0.2.1/24", "dev", nic.name)


def addressed6(nic: Nic) -> None:
    ip("addr", "add", "2001:db8::1/64", "dev", nic.name)


def routed(nic: Nic) -> None:
    ip("route", "add", "198.51.100.0/24", "dev", nic.name)


def routed6(nic: Nic) -> None:
    ip("-6", "route", "add", "2001:db8::/64", "dev", nic.name, "table", "99")


def default(nic: Nic) -> None:
    ip("route", "add", "default", "dev", nic.name, "metric", "4242")


def shared(nic: Nic) -> None:
    ip(*f"route add 198.51.100.0/24 nexthop dev {nic.name} nexthop dev {nic.cable}".split())


def gateway(nic: Nic) -> None:
    ip(*f"-6 route add fe80:0:0:9::/64 via fe80::1 dev {nic.name}".split())


def bridged(nic: Nic) -> None:
    ip("link", "add", f"{nic.name}b", "type", "bridge")
    ip("link", "set", nic.name, "master", f"{nic.name}b")


def macvlan(nic: Nic) -> None:
    ip("link", "add", "link", nic.name, "name", f"{nic.name}m", "type", "macvlan")


def tunnel(nic: Nic) -> None:
    ip(*f"link add {nic.name}x type vxlan id 5 dev {nic.name} group 239.1.1.1 dstport 4789".split())


def classified(nic: Nic) -> None:
    subprocess.run(["tc", "qdisc", "add", "dev", nic.name, "clsact"], check=True)


USED = [
    (addressed, "has addresses"),
    (addressed6, "has addresses"),
    (routed, r"has a route to 198\.51\.100\.0/24"),
    (routed6, "has a route to 2001:db8::/64"),
    (default, "has a route to everywhere"),
    (shared, r"has a route to 198\.51\.100\.0/24"),
    (gateway, "has a route to fe80:0:0:9::/64"),
    (bridged, "is joined to NICb"),
    (macvlan, "carries NICm"),
    (tunnel, "carries NICx"),
    (classified, r"has traffic control that cannot be put back \(qdisc clsact\)"),
]


class TestRefused:
    @pytest.mark.parametrize(("kind", "why"), USED)
    def test_what_is_in_use(self, kind: Callable[[Nic], None], why: str, nic: Nic) -> None:
        plain(nic)
        assert problem_of(nic.name) is None
        try:
            kind(nic)
            problem = problem_of(nic.name)
        finally:
            for suffix in "bmx":
                subprocess.run(["ip", "link", "del", f"{nic.name}{suffix}"], check=False, capture_output=True)
        assert problem is not None
        assert problem.startswith(why.replace("NIC", nic.name).replace("\\", ""))

    def test_one_that_carries_an_interface_of_another_namespace(
        self, nic: Nic, record: OwnershipRecord
    ) -> None:
        """As a container's macvlan does, of which nothing is to be seen here."""
        macvlan(nic)
        ip("link", "set", f"{nic.name}m", "netns", f"{record.run}-host")
        assert problem_of(nic.name) == f"carries {nic.name}m of another namespace"
        assert problem_of(nic.cable) is None

    def test_one_on_top_of_the_way_out(self, nic: Nic) -> None:
        plain(nic)
        macvlan(nic)
        upper = f"{nic.name}m"
        assert problem_of(upper) is None
        default(nic)
        assert problem_of(upper) == f"stands on {nic.name}, where the default route goes by {nic.name}"

    def test_one_on_top_of_where_ssh_comes_in(self, nic: Nic, monkeypatch: pytest.MonkeyPatch) -> None:
        plain(nic)
        macvlan(nic)
        addressed(nic)
        monkeypatch.setenv("SSH_CONNECTION", "192.0.2.9 50000 192.0.2.1 22")
        assert problem_of(f"{nic.name}m") == f"stands on {nic.name}, where SSH goes by {nic.name}"
        monkeypatch.setenv("SSH_CONNECTION", f"fe80::9 50000 fe80::1%{nic.cable} 22")
        assert problem_of(nic.cable) == "is where SSH comes in"

    def test_one_with_a_connection_by_a_link_local_address(self, nic: Nic) -> None:
        """As of a login by sudo, which SSH's variables do not tell of."""
        plain(nic)
        down(nic)
        with (
            socket.create_server(("169.254.7.7", 0)) as server,
            socket.create_connection(server.getsockname()),
        ):
            assert problem_of(nic.name) == "carries a TCP connection"
