"""Ports: what each makes and removes."""

import os
import signal
from collections.abc import Iterator

import pytest

from tests.helpers.namespaces import told
from tests.helpers.rights import OF_NETWORK, status_of
from vtax.machine.namespace import Namespace, OwnedNamespace
from vtax.machine.ownership import OwnershipRecord
from vtax.platforms.tap import open_tap
from vtax.testbed.accounts import HOST, Account
from vtax.testbed.addressing import Station
from vtax.testbed.link import LinkEnd, make_link
from vtax.testbed.ports import PORTS, Site, Surroundings, open_vswitch

pytestmark = pytest.mark.system

FAR = Station("02:00:00:00:00:01", "198.18.0.2")
GUEST = Station("02:00:00:00:00:03", "198.18.0.1", ("198.19.0.0/24",), FAR.mac)


@pytest.fixture
def site() -> Iterator[Site]:
    """The end of a link on a host with one guest."""
    record = OwnershipRecord(f"vtax-test-{os.urandom(3).hex()}")
    record.open()
    here, far = (Namespace(f"{record.run}-{name}") for name in ("uut", "source"))
    for namespace in (here, far):
        record.add(OwnedNamespace(namespace.name))
        namespace.create()
    end = LinkEnd(here, "in0", GUEST.mac)
    make_link(LinkEnd(far, "src0", FAR.mac), end, mtu=1500)
    try:
        yield Site(end, "port-in", [FAR], [GUEST], Surroundings("uut", record, [0]))
    finally:
        record.clean()
        assert not record.failed


def test_a_router_stands_in_for_both_sides(site: Site) -> None:
    (tap,) = open_tap(site.end.namespace, "guestp0", 1500)
    try:
        port = PORTS["routed"](site)
        port.attach("guestp0", GUEST.mac)
        host = site.end.namespace
        assert f"link/ether {FAR.mac}" in told(host, "ip", "link", "show", "guestp0")
        neighbours = told(host, "ip", "neigh", "show")
        assert f"198.18.0.1 dev guestp0 lladdr {GUEST.mac} PERMANENT" in neighbours
        assert f"198.18.0.2 dev in0 lladdr {FAR.mac} PERMANENT" in neighbours
        from_link = told(host, "ip", "route", "get", "198.19.0.9", "from", "198.18.0.2", "iif", "in0")
        assert "via 198.18.0.1 dev guestp0" in from_link
        from_guest = told(host, "ip", "route", "get", "198.18.0.2", "from", "198.18.0.1", "iif", "guestp0")
        assert "via 198.18.0.2 dev in0" in from_guest
        port.close()
        assert "iif" not in told(host, "ip", "rule")
    finally:
        os.close(tap)


def test_a_bridge_of_open_vswitch_has_rules_and_no_more(site: Site) -> None:
    PORTS["ovs"].find()
    (tap,) = open_tap(site.end.namespace, "guestp0", 1500, headers=False)
    assert site.host is not None
    try:
        port = PORTS["ovs"](site)
        port.attach("guestp0", GUEST.mac)
        assert port.dropped() == {"in0": 0, "guestp0": 0}
        directory = site.host.record.scratch / f"{site.end.namespace.name}.ovs"
        flows = told(site.end.namespace, "ovs-ofctl", "dump-flows", str(directory / "port-in.mgmt"))
        assert f"dl_dst={GUEST.mac} actions=output:" in flows
        assert f"dl_dst={FAR.mac} actions=output:" in flows
        assert "priority=0 actions=drop" in flows
        assert told(site.end.namespace, "ss", "--listening", "--tcp", "--udp", "--no-header") == ""
        port.close()
        assert "guestp0" not in told(
            site.end.namespace, "ovs-vsctl", f"--db=unix:{directory}/db.sock", "show"
        )
        site.host.close()
        assert not directory.exists()
    finally:
        os.close(tap)


def test_the_record_alone_removes_open_vswitch(site: Site) -> None:
    PORTS["ovs"](site)
    assert site.host is not None
    pids = {pid for pid, _ in site.host.threads().values()}
    assert len(pids) == 2
    assert {account for _, account in site.host.threads().values()} == {Account(HOST, "ovs")}
    os.kill(max(pids), signal.SIGKILL)
    removed = {str(entry) for entry in site.host.record.clean()}
    assert {"process ovsdb-server", f"namespace {site.end.namespace.name}"} <= removed
    assert not site.host.record.scratch.exists()
    site.host.close()


def test_a_switch_that_does_not_start_says_why_and_leaves_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_vswitch, "QUIET", (*open_vswitch.QUIET, "--no-such-option"))
    monkeypatch.setattr(open_vswitch, "PATIENCE_S", 5)
    with pytest.raises(
        OSError, match=r"^ovsdb-server exited 1; ovs-vsctl: (.|\n)*unrecognized option"
    ) as failed:
        PORTS["ovs"](site)
    assert "--no-such-option" in str(failed.value)
    assert site.host is not None
    site.host.close()
    assert not list(site.host.record.scratch.iterdir())


def test_its_programs_have_no_rights_but_over_their_network(site: Site) -> None:
    PORTS["ovs"](site)
    assert site.host is not None
    found = {
        status["Name"]: status for status in map(status_of, {pid for pid, _ in site.host.threads().values()})
    }
    site.host.close()
    for program, rights in {"ovsdb-server": 0, "ovs-vswitchd": OF_NETWORK}.items():
        status = found[program]
        ids = {int(number) for number in (*status["Uid"].split(), *status["Gid"].split())}
        assert all(number >= 0x80000 for number in ids)
        assert {int(status[kind], 16) for kind in ("CapEff", "CapPrm", "CapBnd")} == {rights}
        assert status["NoNewPrivs"] == "1"


def test_a_macvtap_is_no_switch(site: Site) -> None:
    (tap,) = open_tap(site.end.namespace, "guestp0", 1500)
    try:
        with pytest.raises(OSError, match="guestp0 is a tun, which no switch joins to in0"):
            PORTS["macvtap"](site).attach("guestp0", GUEST.mac)
    finally:
        os.close(tap)
