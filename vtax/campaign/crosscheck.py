"""A trial's ledger of CPU time, and whether the kernel's own counts bear it out."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vtax.campaign.ledger import IDLE, UNTOLD, CpuTime, Ledger, interval, ledger
from vtax.campaign.limits import LEDGER_APART, LEDGER_CONFIDENCE, LEDGER_UNTOLD
from vtax.campaign.trial import Measured
from vtax.campaign.verdict import Finding, Verdict
from vtax.machine.cpu import TICK_S


def ledger_of(measured: Measured) -> Ledger | None:
    """The ledger of the trial's host; None where nothing was sampled."""
    if measured.sampled is None or measured.cpu is None:
        return None
    return ledger(measured.sampled, measured.owners, _times(*measured.cpu))


def ledger_findings(measured: Measured) -> Iterator[Finding]:
    """Where samples and counts of the same time lie further apart than chance and rounding explain."""
    found = ledger_of(measured)
    if found is None:
        return
    for claim in claims(measured, found):
        if (apart := claim.apart(found.slots)) > LEDGER_APART:
            yield (
                Verdict.SUSPECT,
                f"CPU ledger: {claim.what} has {100 * claim.sampled(found.slots):.1f}% of a CPU by samples, "
                f"{100 * claim.counted:.1f}% by the kernel's count, {100 * apart:.1f}% beyond chance",
            )
    untold = found.percent(UNTOLD) / 100 / len(found.slots)
    if untold > LEDGER_UNTOLD:
        yield Verdict.SUSPECT, f"CPU ledger: nothing tells whose {100 * untold:.1f}% of the CPU time was"


@dataclass(frozen=True)
class Claim:
    """The same time twice, in CPUs: by samples, and by the kernel's count with its rounding."""

    what: str
    samples: Mapping[int, int]
    counted: float
    rounding: float

    def sampled(self, slots: Mapping[int, int]) -> float:
        """What the samples say."""
        return sum(count / slots[cpu] for cpu, count in self.samples.items())

    def apart(self, slots: Mapping[int, int]) -> float:
        """How far the count lies outside the samples' interval."""
        low, high = interval(self.samples, slots, LEDGER_CONFIDENCE)
        return max(low - self.counted, self.counted - high, self.rounding) - self.rounding


def claims(measured: Measured, found: Ledger) -> Iterator[Claim]:
    """All that samples and kernel both tell: each CPU's idle time, and named threads' with the interrupts on top."""
    if measured.sampled is None or measured.cpu is None:
        return
    before, after = measured.cpu
    elapsed_s = after["at_s"] - before["at_s"]
    # Idle time comes in ticks, and a running thread's time as of its last one.
    rounding = TICK_S / elapsed_s
    idle = found.accounts.get(IDLE, Counter())
    for cpu, time in _times(before, after).items():
        if cpu in found.slots:
            yield Claim(f"idle CPU {cpu}", {cpu: idle[cpu]}, time.idle, rounding)
    samples: dict[str, Counter[int]] = {name: Counter() for name in after["threads"]}
    for sample in measured.sampled["samples"]:
        name = measured.owners["threads"].get(sample["tid"])
        if name in samples:
            samples[name][sample["cpu"]] += sample["samples"]
    for name, times in after["threads"].items():
        run_ns = times["run_ns"] - before["threads"].get(name, {"run_ns": 0})["run_ns"]
        yield Claim(name, samples[name], run_ns / 1e9 / elapsed_s, rounding)


def _times(before: dict[str, Any], after: dict[str, Any]) -> dict[int, CpuTime]:
    elapsed_s = after["at_s"] - before["at_s"]
    idle, stolen = (
        {
            cpu: (total - before["machine"][key][cpu]) / elapsed_s
            for cpu, total in after["machine"][key].items()
        }
        for key in ("idle_s", "steal_s")
    )
    return {cpu: CpuTime(idle[cpu], stolen[cpu]) for cpu in idle}
