"""User-mode Linux guests: forwarding, what ends with what, and the control stream on a serial line."""

import contextlib
import os
import shutil
import socket
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

import msgspec
import pytest
from msgspec import Raw

from tests.helpers.campaigns import assert_measured, vtax
from tests.helpers.guests import forward_streams, have_ended, orphans
from tests.helpers.namespaces import PORTS, ports_of, told
from tests.helpers.two_cpus import two_cpus
from vtax import agent_api
from vtax.agent_api import ConfiguredNic, GuestConfigureParams
from vtax.agent_message import Nothing
from vtax.inputs.own_file import hash_file
from vtax.machine.agent import AgentError, AgentGone
from vtax.machine.namespace import Namespace, OwnedNamespace
from vtax.machine.ownership import OwnershipRecord, Process
from vtax.machine.pidfd import process_start
from vtax.machine.processes import descendants
from vtax.platforms import GuestNic, GuestPlan, uml
from vtax.platforms.cpio import newc_archive
from vtax.results import Result

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]


class NoPort:
    lower = None
    offloads = True

    def attach(self, interface: str, guest_mac: str) -> None:
        pass


@pytest.fixture
def plan(tmp_path: Path) -> Iterator[GuestPlan]:
    """A plan for a guest with two NICs at no port."""
    record = OwnershipRecord(f"vtax-test-{uuid.uuid4().hex[:6]}")
    record.open()
    host = Namespace(f"{record.run}-host")
    record.add(OwnedNamespace(host.name))
    host.create()
    nics = [GuestNic(f"02:00:00:00:00:0{number}", NoPort(), 1500) for number in (8, 9)]
    try:
        yield GuestPlan("guest", uml.Config(), nics, host, sorted(os.sched_getaffinity(0)), record)
    finally:
        record.clean()
        assert not record.failed


@pytest.fixture
def guest(plan: GuestPlan) -> Iterator[uml.UmlGuest]:
    started = uml.Kind().start(plan)
    try:
        yield started
    finally:
        started.stop()


def processes(guest: uml.UmlGuest) -> dict[str, list[int]]:
    """Open handles on the guest's processes by component."""
    handles: dict[str, list[int]] = {}
    for tid, (pid, component) in guest.threads().items():
        if tid == pid:
            handles.setdefault(component, []).append(os.pidfd_open(pid))
    return handles


class TestCampaign:
    @pytest.mark.platform
    def test_guests_forward_every_stream(self, tmp_path: Path) -> None:
        result = forward_streams("uml", 3, tmp_path)
        probe = result.campaign["platforms"]["uml"]
        assert probe["accelerator"] == "none"
        assert probe["facts"]["nic_model"] == "vector tap"
        assert probe["facts"]["version"].startswith(probe["facts"]["guest_kernel"].rpartition(".")[0])
        cpu = result.query("SELECT DISTINCT component FROM cpu WHERE domain = 'guest'").to_pylist()
        assert {row["component"] for row in cpu} == {"kernel", "userspace", "io"}
        assert result.query("SELECT min(hello_s) AS s FROM trials").to_pylist()[0]["s"] > 0


class TestControlStream:
    def test_long_lines_pass_unharmed(self, guest: uml.UmlGuest) -> None:
        """A NIC that is named often makes a request of 60 KB and a reply of nearly as much."""
        mac = "02:00:00:00:00:08"
        nic = agent_api.GuestNic(mac=mac, address="198.18.0.1/24", mtu=1500, neighbours=[])
        request = GuestConfigureParams(nics=[nic] * 745, forward=True)
        assert 60_000 < len(msgspec.json.encode(request)) < 65_000
        reply = guest.agent.api.guest_configure(request, 30.0)
        assert len(msgspec.json.encode(reply)) > 50_000
        assert reply.nics == [ConfiguredNic(mac=mac, interface="vec0", driver="uml-vector")] * 745

    def test_a_request_beyond_the_lines_buffer_does_not_stop_it(self, guest: uml.UmlGuest) -> None:
        for _ in range(3):
            with pytest.raises(AgentError, match="no method `mmm"):
                guest.agent.begin("m" * 20_000, Raw(b"{}")).wait(10.0)

    def test_a_hundred_calls_are_answered(self, guest: uml.UmlGuest) -> None:
        waiting = [guest.agent.api.begin_ping() for _ in range(100)]
        assert [reply(10.0) for reply in waiting] == [Nothing()] * 100
        assert not guest.agent.gone


@two_cpus
@pytest.mark.parametrize("pinned", [[], [1]])
def test_all_its_threads_keep_to_one_cpu(pinned: list[int], plan: GuestPlan) -> None:
    guest = uml.Kind().start(replace(plan, cpus=[0, 1], pinned=pinned))
    try:
        assert {*affinities(guest.threads())} == {frozenset(pinned or [0, 1])}
    finally:
        guest.stop()


def affinities(threads: Iterable[int]) -> Iterator[frozenset[int]]:
    """The CPUs that each thread may run on, of those that have not ended meanwhile."""
    for tid in threads:
        with contextlib.suppress(ProcessLookupError):
            yield frozenset(os.sched_getaffinity(tid))


class TestEnd:
    def test_stop_leaves_no_process(self, guest: uml.UmlGuest, plan: GuestPlan) -> None:
        handles = processes(guest)
        assert handles.keys() == {"kernel", "userspace", "io"}
        assert interfaces(plan.host) == {"lo", "guestp0", "guestp1"}
        guest.stop()
        assert have_ended(chain(*handles.values()))
        assert interfaces(plan.host) == {"lo"}
        assert guest.threads() == {}
        guest.stop()

    @pytest.mark.parametrize("victim", ["kernel", "launcher"])
    def test_none_outlives_a_killed_one(self, guest: uml.UmlGuest, victim: str) -> None:
        handles = processes(guest)
        if victim == "kernel":
            (kernel,) = (pid for pid, component in guest.threads().values() if component == "kernel")
            os.kill(kernel, 9)
        else:
            os.kill(guest.pid, 9)
        assert have_ended(chain(*handles.values()), 60_000)

    def test_none_outlives_a_killed_controller(self, plan: GuestPlan) -> None:
        handles = orphans("uml", plan)
        assert have_ended(handles, 60_000)
        assert interfaces(plan.host) == {"lo"}

    def test_a_guest_has_no_rights_on_the_host(self, guest: uml.UmlGuest) -> None:
        for pid in {pid for pid, _ in guest.threads().values()}:
            status = dict(
                line.split(":", 1)
                for line in Path(f"/proc/{pid}/status").read_text().splitlines()
                if ":" in line
            )
            assert set(status["Uid"].split()) == set(status["Gid"].split()) == {"65534"}
            assert {int(status[kind], 16) for kind in ("CapPrm", "CapEff", "CapBnd", "CapInh")} == {0}
            assert len(status["NSpid"].split()) > 1

    def test_a_guest_that_never_says_hello_leaves_its_last_words(
        self, plan: GuestPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        empty = tmp_path / "empty.cpio"
        empty.write_bytes(newc_archive(["dev"], {}))
        tmp_path.chmod(0o755)
        monkeypatch.setattr(uml, "pack_image", lambda *_: empty)
        with pytest.raises(AgentGone, match="its stream ended before it said hello") as gone:
            uml.Kind().start(plan)
        assert "Kernel panic - not syncing" in str(gone.value)
        assert interfaces(plan.host) == {"lo"}
        (entry,) = (entry for entry in plan.record.entries() if isinstance(entry, Process))
        assert process_start(entry.pid) == 0


def interfaces(namespace: Namespace) -> set[str]:
    return namespace.netlink(lambda ip: {link.get_attr("IFLA_IFNAME") for link in ip.get_links()})


def test_an_agent_that_answers_has_no_port(guest: uml.UmlGuest, plan: GuestPlan) -> None:
    """Nor has what runs its guest: control is a serial line."""
    guest.agent.api.ping()
    pid = guest.agent.process.pid
    assert ports_of([pid, *descendants(pid)]) == []
    assert told(plan.host, *PORTS) == ""
    with socket.create_server(("127.0.0.1", 0)):
        assert len(ports_of([os.getpid()])) == 1, "a port would be seen"


def test_a_kernel_of_ones_own_is_started_by_nobody(scenario: Path, tmp_path: Path) -> None:
    """So the user nobody has to reach it."""
    linux = Path(shutil.copy(uml.fetch_uml() / uml.BINARY, tmp_path / "linux"))
    short = ["--set", "intended_mbps=0.5", "--repetitions", "1"]
    options = ["--platform", "uml", "--set", f"platform.kernel={linux}", *short, "--out", tmp_path / "out"]
    tmp_path.chmod(0o700)
    closed = vtax("run", scenario, *options)
    assert closed.returncode == 2
    assert f"is closed to users other than root, and one of them uses {linux}; chmod o+rx " in closed.stderr
    for directory in (tmp_path, *tmp_path.parents):
        directory.chmod(directory.stat().st_mode | 0o005)
    assert_measured(vtax("run", scenario, *options))
    facts = Result.open(tmp_path / "out").campaign["platforms"]["uml"]["facts"]
    assert facts["files"] == {str(linux): {"sha256": hash_file(str(linux)), "version": facts["guest_kernel"]}}
