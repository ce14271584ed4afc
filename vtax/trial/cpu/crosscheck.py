"""A trial's ledger of CPU time, and whether the kernel's own counts bear it out."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vtax.agent_api import CpuReadAnswer
from vtax.machine import cpu as machine
from vtax.testbed.accounts import Account
from vtax.testbed.cpu_time import CpuCounters, Owners, threads_between
from vtax.trial.cpu.ledger import IDLE, UNTOLD, CpuTime, Ledger, interval, ledger
from vtax.trial.observed import Observed
from vtax.trial.verdict import Finding, Verdict

LEDGER_CONFIDENCE = 0.9999
"""Of the intervals that counts of the kernel's are held against the ledger's samples with: a trial has many of them."""
LEDGER_APART = 0.02
"""Share of a CPU that the two may lie further apart, rounding apart."""
LEDGER_UNTOLD = 0.05
"""Share of a host's CPU time of which nothing tells whose it was."""


def ledger_of(measured: Observed) -> Ledger | None:
    """The ledger of the trial's host; None where nothing was sampled."""
    if measured.sampled is None or measured.cpu is None:
        return None
    host_cpus = measured.cpu[1]["idle_s"].keys()
    return ledger(measured.sampled, measured.owners, _times(*measured.cpu), host_cpus)


def ledger_findings(measured: Observed) -> Iterator[Finding]:
    """Where samples and counts of the same time lie further apart than chance, rounding and lateness explain."""
    found = ledger_of(measured)
    if found is None or measured.sampled is None or measured.cpu is None:
        return
    late = lateness(measured.sampled, *measured.cpu)
    for claim in claims(measured.sampled, measured.owners, found, late, *measured.cpu):
        if (apart := claim.apart(found.slots)) > LEDGER_APART:
            yield (
                Verdict.SUSPECT,
                f"CPU ledger: {claim.what} has {100 * claim.sampled(found.slots):.1f}% of a CPU by samples, "
                f"{100 * claim.counted:.1f}% by the kernel's count; {100 * apart:.1f}% exceed chance",
            )
    untold = (found.percent(UNTOLD) / 100 - sum(late.values())) / len(found.slots)
    if untold > LEDGER_UNTOLD:
        yield Verdict.SUSPECT, f"CPU ledger: {100 * untold:.1f}% of the CPU time could not be attributed"


@dataclass(frozen=True)
class Claim:
    """The same time twice, in CPUs: by samples, and by the kernel's count; what the two may differ by beside chance."""

    what: str
    samples: Mapping[int, int]
    counted: float
    least: float
    """By how much the count may lie below."""
    most: float
    """By how much it may lie above."""

    def sampled(self, slots: Mapping[int, int]) -> float:
        """What the samples say."""
        return sum(count / slots[cpu] for cpu, count in self.samples.items())

    def apart(self, slots: Mapping[int, int]) -> float:
        """How far the count lies outside the samples' interval and what else is allowed."""
        low, high = interval(self.samples, slots, LEDGER_CONFIDENCE)
        return max(low - self.least - self.counted, self.counted - high - self.most, 0.0)


def claims(
    sampled: CpuReadAnswer,
    owners: Owners,
    found: Ledger,
    late: Mapping[Account, float],
    before: CpuCounters,
    after: CpuCounters,
) -> Iterator[Claim]:
    """All that samples and kernel both tell: each CPU's idle time, and known threads' with the interrupts on top."""
    elapsed_s = after["at_s"] - before["at_s"]
    # Idle time comes in ticks, and a running thread's time as of its last one.
    rounding = machine.TICK_S / elapsed_s
    idle = found.accounts.get(IDLE, Counter())
    for cpu, time in _times(before, after).items():
        if cpu in found.slots:
            # The kernel counts no idle time in interrupts, whose samples are the idle task's.
            most = rounding + sum(late.values())
            yield Claim(f"idle CPU {cpu}", {cpu: idle[cpu]}, time.idle, least=math.inf, most=most)
    between = threads_between(before, after)
    samples: dict[Account, Counter[int]] = {account: Counter() for account in between}
    for sample in sampled.samples:
        account = owners["threads"].get(sample.tid)
        if account in samples:
            samples[account][sample.cpu] += sample.samples
    for account, times in between.items():
        counted = times["run_ns"] / 1e9 / elapsed_s
        slack = rounding + late[account]
        yield Claim(account.label, samples[account], counted, least=slack, most=slack)


def lateness(sampled: CpuReadAnswer, before: CpuCounters, after: CpuCounters) -> dict[Account, float]:
    """CPUs that each known thread may have too many or too few, since a sample that is late finds what comes next.

    At most the samples' mean lateness, each time that the thread gets a CPU.
    """
    mean_ns = max(cpu.late_ns / max(cpu.taken, 1) for cpu in sampled.cpus)
    elapsed_s = after["at_s"] - before["at_s"]
    return {
        account: times["runs"] * mean_ns / 1e9 / elapsed_s
        for account, times in threads_between(before, after).items()
    }


def _times(before: CpuCounters, after: CpuCounters) -> dict[int, CpuTime]:
    elapsed_s = after["at_s"] - before["at_s"]
    earlier, later = before["machine"], after["machine"]
    return {
        cpu: CpuTime(
            (later["idle_s"][cpu] - earlier["idle_s"][cpu]) / elapsed_s,
            (later["steal_s"][cpu] - earlier["steal_s"][cpu]) / elapsed_s,
        )
        for cpu in later["idle_s"]
    }
