"""Causes that are planted on real paths are each named rightly, and before all else."""

import itertools
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.disturb import within
from tests.helpers.tolerance import judge_mildly
from vtax.cli import main
from vtax.platforms import GuestPlan, container
from vtax.results import Result
from vtax.testbed.host import Host
from vtax.testbed.layout import cpu_layout
from vtax.views import diagnosis_of
from vtax.views.diagnosis import Finding
from vtax.views.diagnosis.candidate import CauseKind
from vtax.views.diagnosis.ranking import Cause

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

SCENARIO = """
name: test/causes
title: A test
question: Why?
workload: {{kind: forwarding, warmup_s: 0.1, duration_s: 0.4, streams: 1, frame_bytes: 64, cpu_samples_hz: 499}}
testbed: {{link_mbps: 1000, flow_control: true}}
factors:
{factors}
repetitions: {repetitions}
"""
SHORT = "netem limit 4 delay 1ms"
SLOW = "tbf rate 1mbit burst 2kb limit 8kb overhead 24"


def findings(directory: Path, repetitions: int, **factors: Any) -> list[Finding]:
    """Run the grid of these factors; what is said of it."""
    path = directory / "scenario.yaml"
    path.write_text(
        SCENARIO.format(
            repetitions=repetitions,
            factors="\n".join(f"  {name}: {levels}" for name, levels in factors.items()),
        )
    )
    out = directory / "out"
    assert main(["run", str(path), "--out", str(out)]) == 0
    return list(diagnosis_of(Result.open(out)).findings)


def first(finding: Finding) -> Cause:
    assert finding.causes, finding.text
    return finding.causes[0]


@pytest.fixture(autouse=True)
def _whatever_others_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others' CPU time makes no trial here unusable: a hog's is what is to be explained, and any else adds noise."""
    judge_mildly(monkeypatch.setattr)


@pytest.fixture
def hog() -> Iterator[int]:
    """A process that descends from nobody here, outweighs all others on the guests' CPU, and is stopped at first."""
    (cpu, *_) = cpu_layout()["guests"]
    spin = "import os; os.setpriority(os.PRIO_PROCESS, 0, -5); os.kill(os.getpid(), 19)\nwhile True: pass"
    command = f"taskset -c {cpu} python3 -c '{spin}' >/dev/null 2>&1 & echo $!"
    pid = int(subprocess.run(["sh", "-c", command], check=True, capture_output=True, text=True).stdout)
    yield pid
    os.kill(pid, signal.SIGKILL)


@pytest.mark.measures
def test_a_hog_on_the_guests_cpu(hog: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It runs while a container is measured."""
    counters = Host.counters
    runs = itertools.cycle((signal.SIGCONT, signal.SIGSTOP))

    def hogged(self: Host, cpus: list[int]) -> dict[str, Any]:
        sample = counters(self, cpus)
        if cpus and Path(f"/run/netns/{self.namespace.name.removesuffix('-uut')}-guest").exists():
            os.kill(hog, next(runs))
        return sample

    monkeypatch.setattr(Host, "counters", hogged)
    (finding,) = findings(tmp_path, platform="[raw, container]", intended_mbps="[max]", repetitions=5)
    cause = first(finding)
    assert (cause.kind, cause.account) == (CauseKind.TAKEN, ("host", None, "foreign")), finding.text


@pytest.mark.measures
def test_a_capped_port(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """That of the unit under test to the sink, while a container is there."""
    start = container.Kind.start

    def capped(self: container.Kind, plan: GuestPlan) -> container.ContainerGuest:
        within(plan.host.name, "tc qdisc replace dev out0 root tbf rate 1mbit burst 2kb limit 4kb")
        return start(self, plan)

    monkeypatch.setattr(container.Kind, "start", capped)
    (finding,) = findings(tmp_path, platform="[raw, container]", intended_mbps="[5]", repetitions=4)
    cause = first(finding)
    assert (cause.kind, cause.hop) == (CauseKind.DROPPED, "UUT egress"), finding.text
    assert cause.reason == "queue full (dropped_queue of out0)"
    assert (cause.explains or 0) > 0.9


@pytest.mark.measures
def test_a_short_queue_and_a_slow_guest(tmp_path: Path) -> None:
    """Each against the same guest with its kernel's own queue."""
    queues = f"[default, {SHORT}, {SLOW}]"
    factors = {"platform": "[uml]", "intended_mbps": "[5]", "platform.egress_qdisc": queues}
    by_queue = {
        finding.levels["platform.egress_qdisc"]: finding for finding in findings(tmp_path, 4, **factors)
    }
    assert by_queue.keys() == {SHORT, SLOW}
    for queue, finding in by_queue.items():
        assert finding.reference.endswith("egress_qdisc=default")
        cause = first(finding)
        assert (cause.kind, cause.hop) == (CauseKind.DROPPED, "guest egress"), finding.text
        assert (cause.reason or "").startswith(f"dropped by {queue} (dropped_queue of the guest's")
        assert (cause.explains or 0) > 0.9
