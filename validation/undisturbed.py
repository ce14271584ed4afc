"""Trials that nobody disturbs: none is to be called suspect, and no two halves of a cell different."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from validation.campaigns import carry_out
from validation.section import Check, Section
from vtax.results import Result
from vtax.statistics import compare, discoveries, proportion_interval
from vtax.trial.canary import BOUNDS
from vtax.trial.interference import STOLEN
from vtax.workloads.forwarding.measure.instrument import LATE, LATE_P99_NS, WAITED

SUSPECT_SHARE = 0.01
FALSE_DISCOVERY_RATE = 0.05
COMPARISONS = 1000
"""Of one family, spread over all series."""
FAMILIES = 200
LATE_P99_MS = LATE_P99_NS / 1e6
ARITHMETIC = tuple(BOUNDS[work][0] for work in ("chain_ns", "parallel_ns"))
"""Fixed work of the canary that only the core's own speed changes, in words."""
QUANTITIES = ("received_mbps", "latency_p50_ns", "cpu_percent")

TRIALS = """
SELECT verdict, reasons, wait_percent / 100 * duration_s * 1000 AS source_wait_ms,
(100 - percent - wait_percent) / 100 * duration_s * 1000 AS source_away_ms,
foreign_percent / 100 * duration_s * 1000 AS foreign_ms
FROM trials LEFT JOIN (SELECT * FROM cpu WHERE domain = 'source' AND component = 'thread') USING (trial_id)
LEFT JOIN (
    SELECT trial_id, percent AS foreign_percent FROM cpu WHERE domain = 'source' AND component = 'foreign'
) USING (trial_id)
"""

TEXT = f"""
A campaign on a machine that does nothing else: every platform family, two frame sizes, two paced loads and a flood,
half a second each. **False verdicts**: nothing disturbs the trials, so that whatever is said against one is said
wrongly, unless the machine disturbed it: by time that the hypervisor below took and counts as stolen, or took without a
word. Then a source is late that never waited for its CPU, as the scheduler here counts waiting; or its CPU was away: a
paced source never sleeps, so that time in which it neither ran nor waited did not pass here. Or processes that are not
vtax's had the source's CPU, switch by switch as the kernel tells: without them it would hardly have waited. Or a CPU
took longer than usual for the same arithmetic, in registers alone, before the trial or after it.

**A against A**: the trials of a cell are split at random into two halves, which are then compared as two platforms
would be, in received load, median delay and CPU of the UUT (Welch's test of the logarithms). {COMPARISONS} such
comparisons are one family, corrected together (Benjamini and Hochberg 1995). As no difference is true, all
discoveries of a family that has any are false: the share of such families is the false discovery rate, here over
{FAMILIES} draws of the whole family. The correction allows {FALSE_DISCOVERY_RATE:.0%}, and where nothing differs takes
all of it, so that the rate lies about there: its interval may not lie beyond.
"""


@dataclass(frozen=True)
class Trial:
    """What was said of a trial, and what its source did in the window; None where nobody knows."""

    verdict: str
    reasons: list[str]
    source_wait_ms: float | None
    """How long it was ready but had no CPU."""
    source_away_ms: float | None
    """How long it was neither ready nor on a CPU."""
    foreign_ms: float | None
    """How long processes that are not vtax's had its CPU."""

    @property
    def stolen(self) -> bool:
        """Whether the machine below says that it took CPU time."""
        return any(reason.startswith(STOLEN) for reason in self.reasons)

    @property
    def stopped(self) -> bool:
        """Whether the machine below made it late: it hardly waited for its CPU, or that was away for longer."""
        if self.source_wait_ms is None or self.source_away_ms is None:
            return False
        late = all(reason.startswith(LATE) for reason in self.reasons)
        return late and (self.source_wait_ms < LATE_P99_MS or self.source_away_ms > self.source_wait_ms)

    @property
    def slowed(self) -> bool:
        """Whether its CPUs were slower at arithmetic, which asks nothing of the kernel or of memory."""
        return all(any(f": {words} took" in reason for words in ARITHMETIC) for reason in self.reasons)

    @property
    def crossed(self) -> bool:
        """Whether others' processes made it wait or late: but for them it hardly waited for its CPU."""
        if self.source_wait_ms is None or self.foreign_ms is None:
            return False
        of_the_source = all(LATE in reason or WAITED in reason for reason in self.reasons)
        return of_the_source and self.source_wait_ms - self.foreign_ms < LATE_P99_MS


def run(directory: Path) -> Section:
    """500 trials and more, once; then only arithmetic."""
    result = carry_out("undisturbed", directory / "campaign")
    checks = (*_verdicts(result), _against_itself(list(_series(result))))
    return Section("Undisturbed trials", TEXT, checks)


def _verdicts(result: Result) -> Iterator[Check]:
    trials = [Trial(**row) for row in result.query(TRIALS).to_pylist()]
    for verdict, allowed in (("suspect", SUSPECT_SHARE), ("invalid", 0.0)):
        called = [trial for trial in trials if trial.verdict == verdict]
        share = proportion_interval(len(called), len(trials))
        yield Check(
            f"trials called {verdict}",
            f"{len(called)} of {len(trials)} ({share.mean:.1%}; {share.low:.1%} to {share.high:.1%})",
            f"at most {allowed:.0%}",
            share.mean <= allowed,
            explained(called, len(trials), allowed),
        )


def explained(called: Sequence[Trial], among: int, allowed: float) -> str | None:
    """That the machine disturbed so many that no more than `allowed` are left; None where it did not."""
    stolen = [trial for trial in called if trial.stolen]
    late = [trial for trial in called if not trial.stolen and trial.stopped]
    crossed = [trial for trial in called if trial.crossed and not (trial.stolen or trial.stopped)]
    slowed = [trial for trial in called if trial.slowed]
    left = len(called) - len(stolen) - len(late) - len(crossed) - len(slowed)
    if len(called) <= allowed * among or left > allowed * among:
        return None
    waited_ms = [trial.source_wait_ms for trial in late if trial.source_wait_ms is not None]
    away_ms = [trial.source_away_ms for trial in late if trial.source_away_ms is not None]
    foreign_ms = [trial.foreign_ms for trial in crossed if trial.foreign_ms is not None]
    reasons = " ".join(f"{'; '.join(trial.reasons)}." for trial in called)
    return (
        f"The machine disturbed {len(called) - left} of these. The one below counted stolen time in {len(stolen)}. In "
        f"{len(late)} the source was late although it waited for its CPU for {max(waited_ms, default=0.0):.2f} ms at "
        f"most; it neither ran nor waited for up to {max(away_ms, default=0.0):.1f} ms, which nothing that runs here "
        f"can have taken. In {len(crossed)} others' processes had its CPU for {min(foreign_ms, default=0.0):.1f} to "
        f"{max(foreign_ms, default=0.0):.1f} ms, all but a moment of its wait. In {len(slowed)} a "
        f"CPU was slower at the same arithmetic. What was said: {reasons}"
    )


def _series(result: Result) -> Iterator[list[float]]:
    """The trials' values of one quantity in one cell."""
    rows = result.query(
        "SELECT cell, received_mbps, latency_p50_ns, cpu_percent FROM cells LEFT JOIN"
        " (SELECT trial_id, percent AS cpu_percent FROM cpu WHERE domain = 'host' AND component = 'total')"
        " USING (trial_id)"
    ).to_pylist()
    for cell in sorted({row["cell"] for row in rows}):
        for quantity in QUANTITIES:
            values = [row[quantity] for row in rows if row["cell"] == cell and row[quantity]]
            if len(values) >= 4:
                yield values


def _against_itself(series: list[list[float]]) -> Check:
    random = np.random.default_rng(20)
    false, p_values = 0, [1.0] * COMPARISONS
    for _ in range(FAMILIES):
        for number in range(COMPARISONS):
            drawn = random.permutation(series[number % len(series)])
            half = len(drawn) // 2
            p_values[number] = compare(list(drawn[:half]), list(drawn[half:])).p_value
        false += any(discoveries(p_values, FALSE_DISCOVERY_RATE))
    rate = proportion_interval(false, FAMILIES)
    return Check(
        f"false discoveries, {COMPARISONS} comparisons over {len(series)} series, corrected as one family",
        f"{rate.mean:.1%} ({rate.low:.1%} to {rate.high:.1%}; {FAMILIES} draws)",
        f"at most {FALSE_DISCOVERY_RATE:.0%}, in the interval",
        rate.low is None or rate.low <= FALSE_DISCOVERY_RATE,
    )
