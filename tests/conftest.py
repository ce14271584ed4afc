"""What tests share: that nothing is left, a scenario, a guest's plan, and commands in front of the real ones."""

import contextlib
import gc
import os
import time
import uuid
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import MLRsearch  # noqa: F401 - looks at every module there is as it is imported, of which there are few by now
import pytest
from hypothesis import HealthCheck, settings

from tests.helpers import quiet
from tests.helpers.ended import pytest_configure  # noqa: F401 - a hook, found by its name
from tests.helpers.paths import TOLERANT

# What imports the controller does so when a test asks for it, so that a test of a small module starts at once.
if TYPE_CHECKING:
    from tests.helpers.disturb import Act
    from tests.helpers.xen import Answers
    from vtax.platforms import GuestPlan

# A busy machine is no fault of an example; hangs are ended by the test's own time limit.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# What `make fuzz` runs the tests marked `fuzz` with.
settings.register_profile("fuzz", settings.get_profile("default"), max_examples=2000)
settings.load_profile("default")


def pytest_collection_finish() -> None:
    """Spares Python's search for garbage what was imported and collected, which lives to the end, and makes it rare."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Has a test that measures wait for a quiet machine, before its time limit runs."""
    if quiet.measures(item):
        quiet.wait_for_quiet(item)
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a test that measures where others use the machine."""
    if said := item.stash.get(quiet.UNFIT, None):
        pytest.skip(said)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Excuses a test that measures where the machine is busy as it fails."""
    report = yield
    if report.failed and quiet.measures(item):
        quiet.excuse(report)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Counts the tests that were skipped because the machine was busy."""
    skipped = terminalreporter.getreports("skipped")
    busy = sum(quiet.BUSY in str(report.longrepr) for report in skipped)
    terminalreporter.write_line(f"{busy} of {len(skipped)} skipped tests need a quieter machine")


@pytest.fixture(autouse=True)
def _a_terminal_that_can(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever runs the tests: what is drawn depends on this name of a terminal."""
    monkeypatch.setenv("TERM", "xterm")


@pytest.fixture(scope="session", autouse=True)
def _nothing_left_by_the_dead(request: pytest.FixtureRequest) -> None:
    """Before system tests, remove what killed runs have left, so that no test finds it in its footprint."""
    if any(item.get_closest_marker("system") for item in request.session.items):
        from vtax.campaign import clean_host
        from vtax.inputs import InputError

        with contextlib.suppress(InputError):  # a campaign is running: tests that mind say so
            clean_host()


@pytest.fixture(autouse=True)
def _others_are_tolerated(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has no trial of a test that does not measure suffer from a slow or busy machine."""
    if request.node.get_closest_marker("system") and not quiet.measures(request.node):
        from tests.helpers.tolerance import tolerate

        monkeypatch.setenv(TOLERANT, "1")
        tolerate(monkeypatch.setattr)


@pytest.fixture
def leaves_nothing() -> Iterator[None]:
    """Fails the test that uses it when the machine differs afterwards."""
    from tests.helpers.footprint import differences, footprint, settles

    before = footprint()
    yield
    if not settles(before):
        assert differences(before, footprint()) == {}


SCENARIO = """
name: test/forwarding
title: A test
question: Do frames come through?
workload: {kind: forwarding, warmup_s: 0.1, duration_s: 0.3, streams: 1, frame_bytes: 64}
testbed: {link_mbps: 1000, flow_control: true}
factors:
  platform: [raw, container]
  intended_mbps: [5, max]
repetitions: 2
figures: [throughput-by-load, maximum-by-streams]
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is looked in for commands before any other."""
    path = tmp_path / "commands"
    path.mkdir()
    monkeypatch.setenv("PATH", f"{path}:{os.environ['PATH']}")
    return path


@pytest.fixture
def no_archive(commands: Path) -> None:
    """An apt that knows where packages are from, and cannot reach it."""
    from tests.helpers.commands import KNOWN, command

    command(commands, "apt-get", f"{KNOWN} *) echo 'E: Could not resolve' >&2; exit 100;; esac")
    command(commands, "apt-cache", "exit 100")


@pytest.fixture
def kernels() -> Path:
    """Where the distribution's kernels are before a test has a cache of its own: they are large."""
    from vtax.platforms.kernel import KERNELS
    from vtax.platforms.package import cache_directory

    return cache_directory() / KERNELS.name


@pytest.fixture
def cache(kernels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache of packages."""
    from vtax.platforms.emulator import find_emulator
    from vtax.platforms.kernel import fetch_kernel

    path = tmp_path / "cache"
    monkeypatch.setenv("VTAX_CACHE", str(path))
    for found in (find_emulator, fetch_kernel):
        found.cache_clear()
    yield path
    for found in (find_emulator, fetch_kernel):
        found.cache_clear()


@pytest.fixture
def dom0(commands: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator["Answers"]:
    """Has xl answer as in dom0 of a Xen machine."""
    from tests.helpers.xen import answers_of_dom0
    from vtax.platforms.xen import toolstack

    yield answers_of_dom0(commands, tmp_path, monkeypatch)
    toolstack.facts.cache_clear()


@pytest.fixture
def manage(commands: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What VBoxManage has been told is in the file with `.calls` behind its name. Its modules are said to be there."""
    from tests.helpers.virtualbox import stand_in

    return stand_in(commands, tmp_path, monkeypatch)


@pytest.fixture
def able(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Has vtax take itself for root's, with an agent that was built, so that a platform's probe goes on to what
    the test is about. Requiet that agent, which is a few bytes.
    """
    agent = tmp_path / "agent-that-was-built"
    agent.write_bytes(b"the agent of a test")
    monkeypatch.setenv("VTAX_AGENT", str(agent))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return agent


@pytest.fixture
def plan(tmp_path: Path) -> Iterator["GuestPlan"]:
    """A plan for a guest with one NIC at no port; `replace` gives it another kind's configuration."""
    from vtax.machine.namespace import Namespace, OwnedNamespace
    from vtax.machine.ownership import OwnershipRecord
    from vtax.platforms import GuestNic, GuestPlan, container

    class NoPort:
        lower = None
        offloads = True

        def attach(self, interface: str, guest_mac: str) -> None:
            pass

    record = OwnershipRecord(f"vtax-test-{uuid.uuid4().hex[:6]}", tmp_path / "state")
    record.open()
    host = Namespace(f"{record.run}-host")
    record.add(OwnedNamespace(host.name))
    host.create()
    nic = GuestNic("02:00:00:00:00:09", NoPort(), 1500)
    try:
        yield GuestPlan("guest", container.Config(runtime="runc"), [nic], host, [0], record)
    finally:
        record.clean()
        assert not record.failed


@pytest.fixture
def before_its_frames(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[["Act"], None]]:
    """Has something done once, where all awaits the frames of the first trial: none passes before it is done."""
    from vtax.workloads.forwarding.measure.trial import ForwardingTrial

    arm = ForwardingTrial.arm
    acts: list[Act] = []

    def changed(self: ForwardingTrial) -> None:
        arm(self)
        if acts:
            acts.pop()(self._path.testbed.uut.namespace.name.removesuffix("-uut"))

    monkeypatch.setattr(ForwardingTrial, "arm", changed)
    yield acts.append
    assert acts == [], "no trial came so far"


@pytest.fixture
def in_the_trial(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[["Act"], None]]:
    """Has something done once, amid the first measurement."""
    from vtax.testbed.host import Host
    from vtax.trial.window_trial import SAMPLE_AHEAD_S, SAMPLE_INSET_S

    counters = Host.counters
    acts: list[Act] = []

    def disturbed(self: Host, cpus: list[int]) -> dict[str, Any]:
        sample = counters(self, cpus)
        if cpus and acts:
            time.sleep(SAMPLE_AHEAD_S + SAMPLE_INSET_S)  # the first sample is taken ahead of the window
            acts.pop()(self.namespace.name.removesuffix("-uut"))
        return sample

    monkeypatch.setattr(Host, "counters", disturbed)
    yield acts.append
    assert acts == [], "no trial came so far"
