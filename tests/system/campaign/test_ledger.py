"""Loads of known owner and size on this machine's CPUs, found by the ledger within its intervals."""

import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

import pytest

from vtax.cli import main
from vtax.machine.cpu import TICK_S, sample_cpus, thread_time
from vtax.machine.ownership import OwnershipRecord
from vtax.results import Result
from vtax.testbed.accounts import CONTROLLER, Account
from vtax.testbed.cpu_time import Owners
from vtax.testbed.host import Host
from vtax.testbed.layout import cpu_layout
from vtax.trial.cpu.crosscheck import LEDGER_APART, LEDGER_CONFIDENCE
from vtax.trial.cpu.ledger import IDLE, CpuTime, interval, ledger
from vtax.trial.cpu_meter import CpuMeter

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

WINDOW_S = 2.0
SPIN = """
import sys, time
busy_s, period_s = float(sys.argv[1]) * 0.0073, 0.0073
while True:
    end = time.monotonic() + busy_s
    while time.monotonic() < end: pass
    time.sleep(period_s - busy_s)
"""
PLANTED: dict[Account, tuple[Literal["threads", "processes"], float]] = {
    Account("guest", "vcpu 0"): ("threads", 0.25),
    Account("guest", "other"): ("processes", 0.10),
    Account("neighbour", "vcpu 0"): ("threads", 0.15),
    Account("source", "agent"): ("processes", 0.20),
    Account("sink", "agent"): ("processes", 0.05),
    CONTROLLER: ("processes", 0.10),
}
"""By account: whether the spinner is named as a thread or as a process, and what of a CPU it takes if it can."""


@pytest.fixture
def meter(tmp_path: Path) -> Iterator[CpuMeter]:
    """A meter of all CPUs, by an agent in a namespace."""
    record = OwnershipRecord(f"vtax-test-{uuid.uuid4().hex[:6]}", tmp_path / "state")
    record.open()
    host = Host("sink", record, cpu_layout())
    try:
        host.create()
        host.start_agent("sink", "agents")
        meter = CpuMeter(997)
        meter.open(host, "sink")
        assert meter.refused is None
        yield meter
    finally:
        host.close()
        record.clean()


@pytest.mark.measures
def test_planted_loads_are_found(meter: CpuMeter) -> None:
    cpus = sorted(sample_cpus().idle_s)
    with ExitStack() as ending:
        spinners = {}
        for number, (account, (_, share)) in enumerate(PLANTED.items()):
            pin = ["taskset", "--cpu-list", str(cpus[number % len(cpus)])]
            process = subprocess.Popen([*pin, sys.executable, "-c", SPIN, str(share)])
            ending.callback(process.wait)
            ending.callback(process.kill)
            spinners[account] = process.pid
        owners: Owners = {"threads": {}, "processes": {}}
        for account, (kind, _) in PLANTED.items():
            owners[kind][spinners[account]] = account
        wait_until_spinning(list(spinners.values()))
        meter.arm(0.0, WINDOW_S)
        before, ran_before = sample_cpus(), {account: run_s(pid) for account, pid in spinners.items()}
        time.sleep(WINDOW_S)
        after, ran_after = sample_cpus(), {account: run_s(pid) for account, pid in spinners.items()}
        told = meter.read()
    assert told is not None
    elapsed_s = after.at_s - before.at_s
    times = {
        cpu: CpuTime(
            idle=(after.idle_s[cpu] - before.idle_s[cpu]) / elapsed_s,
            stolen=(after.steal_s[cpu] - before.steal_s[cpu]) / elapsed_s,
        )
        for cpu in cpus
    }
    found = ledger(told, owners, times, times.keys())
    tolerance = LEDGER_APART + TICK_S / elapsed_s
    for account in PLANTED:
        counted = (ran_after[account] - ran_before[account]) / elapsed_s
        assert counted > 0.02, f"{account} got no CPU to speak of"
        low, high = interval(found.accounts[account], found.slots, LEDGER_CONFIDENCE)
        assert low - tolerance < counted < high + tolerance, (account, found.rows())
    idle = found.accounts.get(IDLE, {})
    for cpu, time_of in times.items():
        low, high = interval({cpu: idle.get(cpu, 0)}, found.slots, LEDGER_CONFIDENCE)
        assert low - tolerance < time_of.idle < high + tolerance, (cpu, found.rows())
    assert sum(row["percent"] for row in found.rows()) == pytest.approx(100 * len(cpus))


def run_s(pid: int) -> float:
    """What the scheduler gave a process that has one thread."""
    ran = thread_time(pid, pid)
    assert ran is not None
    return ran.run_ns / 1e9


def wait_until_spinning(pids: list[int]) -> None:
    """Until each has used more than Python takes to start."""
    deadline = time.monotonic() + 20
    while any(run_s(pid) < 0.1 for pid in pids):
        assert time.monotonic() < deadline, "the spinners get no CPU"
        time.sleep(0.01)


@pytest.mark.measures
def test_a_trials_ledger_holds_all_its_traffic(scenario: Path, tmp_path: Path) -> None:
    """A router in the kernel: the source's thread, the ingress thread, and the soft interrupts on top of both."""
    options = ["--platform", "raw", "--repetitions", "1", "--duration", "1", "--set", "intended_mbps=max"]
    options += ["--set", "workload.cpu_samples_hz=997"]
    main(["run", str(scenario), *options, "--out", str(tmp_path / "out")])
    result = Result.open(tmp_path / "out")
    trials = result.query(
        "SELECT trial_id, host, sum(percent) AS percent FROM cpu WHERE samples IS NOT NULL GROUP BY ALL"
    ).to_pylist()
    assert trials
    cpus = len(sample_cpus().idle_s)
    for trial in trials:
        assert trial["percent"] == pytest.approx(100 * cpus)
    rows = result.query("SELECT * FROM cpu WHERE samples IS NOT NULL AND trial_id = 1").to_pylist()
    percent = {(row["domain"], row["component"]): row["percent"] for row in rows}
    assert percent["source", "agent"] > 40
    assert percent["host", "ingress in0"] > 2
    assert percent["host", "softirq"] > 1
    for row in rows:
        assert 0 <= row["low"] <= row["percent"] <= row["high"] <= 100 * cpus


def test_without_samples_the_trial_is_counted_and_says_so(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("vtax.trial.path.CpuMeter", lambda _hz: CpuMeter(20_000))
    main(["run", str(scenario), "--platform", "raw", "--repetitions", "1", "--out", str(tmp_path / "out")])
    assert (
        "CPU time is counted, not sampled: sink: cpu.open: hz: Expected `int` <= 10000"
        in capsys.readouterr().err
    )
    result = Result.open(tmp_path / "out")
    (rows,) = result.query("SELECT count(*) AS n, count(samples) AS sampled FROM cpu").to_pylist()
    assert rows["n"] > 0
    assert rows["sampled"] == 0
