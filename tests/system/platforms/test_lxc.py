"""Platform kind `lxc`: what is missed is named, what is started goes again, whoever is killed."""

import os
import signal
import subprocess
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.helpers.guests import have_ended, orphans
from tests.helpers.namespaces import interfaces
from tests.helpers.rights import assert_of_network_only, status_of_agent
from vtax.machine import cgroups
from vtax.machine.agent import AgentGone
from vtax.machine.namespace import Namespace
from vtax.machine.ownership import OwnershipRecord, Process
from vtax.machine.pidfd import process_start
from vtax.platforms import GuestPlan, PlatformUnusable, lxc
from vtax.platforms.confinement import MASKED_PATHS
from vtax.platforms.oci import PLACE, at_place

pytestmark = pytest.mark.system


@pytest.fixture
def plan(plan: GuestPlan) -> GuestPlan:
    return replace(plan, config=lxc.Config())


def remains(plan: GuestPlan) -> list[Path]:
    """What there is of the plan's guest outside its scratch directory."""
    name = f"{plan.record.run}-guest"
    places = [
        Namespace(name).path,
        *cgroups.ROOT.glob(f"**/{name}"),
        *lxc.LOCKS.glob(f"**/.{name}"),
    ]
    return [place for place in places if place.exists()]


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(PlatformUnusable, match="no lxc-start command found"):
        lxc.Kind().check(lxc.Config())


def test_a_guest_starts_answers_and_goes(plan: GuestPlan) -> None:
    for _ in range(2):
        begun = time.monotonic()
        guest = lxc.Kind().start(plan)
        assert 0 < guest.hello_s <= time.monotonic() - begun
        guest.agent.api.ping()
        assert interfaces(plan.host) == {"lo", "guestp0"}
        assert interfaces(Namespace(f"{plan.record.run}-guest")) == {"lo", "eth0"}
        guest.stop()
        assert interfaces(plan.host) == {"lo"}
        assert remains(plan) == []


def test_a_guest_starts_where_run_allows_no_programs(plan: GuestPlan) -> None:
    """The run's scratch directory is beneath /run, which Debian mounts so."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec", "vtax", str(plan.scratch)], check=True)
    try:
        lxc.Kind().start(plan).stop()
    finally:
        subprocess.run(["umount", str(plan.scratch)], check=True)


def test_a_failed_start_leaves_nothing_and_says_why(plan: GuestPlan) -> None:
    """LXC itself fails, with a container and its cgroups half made."""
    with pytest.raises(AgentGone, match=r'lxc-start: .*Failed to set "cpuset\.cpus" to "999"'):
        lxc.Kind().start(replace(plan, cpus=[999]))
    assert interfaces(plan.host) == {"lo"}
    assert remains(plan) == []
    (entry,) = (entry for entry in plan.record.entries() if isinstance(entry, Process))
    assert process_start(entry.pid) == 0


def test_the_record_alone_removes_a_guest(plan: GuestPlan) -> None:
    guest = lxc.Kind().start(plan)
    os.kill(guest.agent.process.pid, signal.SIGKILL)
    plan.record.clean()
    assert not plan.record.failed
    assert remains(plan) == []
    guest.stop()


def test_a_guest_of_a_killed_controller_is_removed(plan: GuestPlan, tmp_path: Path) -> None:
    """The monitor and the agent die with it, and the record has the rest."""
    handles = orphans("lxc", plan)
    assert list(cgroups.ROOT.glob(f"**/{plan.record.run}-guest"))
    record = OwnershipRecord(plan.record.run, plan.record.path.parent)
    removed = {str(entry) for entry in record.clean()}
    assert f"LXC container {plan.record.run}-guest" in removed
    assert not record.failed
    assert remains(plan) == []
    assert have_ended(handles)


def test_a_limit_that_would_be_passed_over_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine whose memory is with cgroup2, and the rest with version 1."""
    (tmp_path / "unified").mkdir()
    (tmp_path / "unified/cgroup.controllers").write_text("memory\n")
    mounts = tmp_path / "mounts"
    mounts.write_text(
        f"cgroup {tmp_path}/cpuset cgroup rw,cpuset 0 0\ncgroup2 {tmp_path}/unified cgroup2 rw 0 0\n"
    )
    monkeypatch.setattr(cgroups, "find_mixture", partial(cgroups.find_mixture, tmp_path, mounts))
    lxc.Kind().check(lxc.Config())
    with pytest.raises(PlatformUnusable, match="LXC cannot limit memory here"):
        lxc.Kind().check(lxc.Config(memory_bytes=64 << 20))


def test_a_guest_has_the_cpus_and_the_memory_it_was_given(plan: GuestPlan) -> None:
    guest = lxc.Kind().start(replace(plan, config=lxc.Config(memory_bytes=64 << 20)))
    try:
        limits = {
            limit.read_text().strip()
            for name in ("cpuset.cpus", "memory.limit_in_bytes", "memory.max")
            for limit in cgroups.ROOT.glob(f"**/{plan.record.run}-guest/container/{name}")
        }
    finally:
        guest.stop()
    assert limits == {"0", str(64 << 20)}


ATTACK = """
my $masked = shift;
my @calls = ([56, 0x10000011], [56, 0x20011], [272, 0x10000000], [321], [248], [425], [101], [41, 40, 1]);
sub mounted {
    my ($at, $how) = @_;
    open my $mounts, "<", "/proc/self/mounts";
    scalar grep { / $at \\S+ $how/ } <$mounts>;
}
my @found = ($<, mounted("/proc/sys", "ro"), map { mounted($_, "") } split " ", $masked);
for my $call (@calls) {
    my $answer = syscall($call->[0], map { $call->[$_] // 0 } 1 .. 5);
    exit if $answer == 0 && $call->[0] == 56;  # the child
    push @found, $answer < 0 ? $! + 0 : 0;
}
open my $own, ">>", "/proc/sys/net/ipv4/ip_forward" or die "its own network: $!";
print "@found";
"""
"""Of a root inside, in Perl: the mounts that hold it, and what system calls answer, which are clone with namespaces,
unshare, bpf, add_key, io_uring_setup, ptrace, and a socket of AF_VSOCK."""
PERL = "/usr/bin/perl"
EPERM = 1


def masked() -> list[str]:
    """Paths of this kernel's that a guest sees nothing of."""
    return [path for path in MASKED_PATHS if Path(path).exists()]


@pytest.fixture
def programs(plan: GuestPlan) -> GuestPlan:
    return replace(plan, packages=("perl-base",))


def attacked(plan: GuestPlan, isolation: str) -> tuple[list[int], dict[str, str]]:
    """What an attack from inside comes to, and what the kernel tells of the agent's process."""
    guest = lxc.Kind().start(replace(plan, config=lxc.Config.model_validate({"isolation": isolation})))
    try:
        name = f"{plan.record.run}-guest"
        words = ["--clear-env", "--", PERL, "-e", ATTACK, " ".join(masked())]
        place = at_place(plan.scratch / "guest.lxc")
        command = [*place, "lxc-attach", f"--name={name}", f"--lxcpath={PLACE}", *words]
        told = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
        assert told.returncode == 0, told.stderr
        return [int(word) for word in told.stdout.split()], status_of_agent(guest)
    finally:
        guest.stop()


def test_root_inside_reaches_nothing_of_the_host(programs: GuestPlan) -> None:
    told, status = attacked(programs, "production")
    assert told == [0, 1, *[1] * len(masked()), *[EPERM] * 8]
    ids = {int(number) for number in (*status["Uid"].split(), *status["Gid"].split())}
    assert all(number >= 0x80000 for number in ids)
    assert status["Seccomp"] == "2"
    assert status["NoNewPrivs"] == "1"


def test_without_isolation_root_inside_is_root(programs: GuestPlan) -> None:
    told, status = attacked(programs, "none")
    uid, _, *held = told
    assert uid == 0
    assert not any(held[: len(masked())])
    assert held[len(masked()) :].count(EPERM) < 8
    assert set(status["Uid"].split()) == {"0"}
    assert status["Seccomp"] == "0"


def test_an_agent_without_programs_has_rights_over_its_network_only(plan: GuestPlan) -> None:
    guest = lxc.Kind().start(plan)
    try:
        status = status_of_agent(guest)
    finally:
        guest.stop()
    assert_of_network_only(status)
