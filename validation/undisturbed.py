"""Trials that nobody disturbs: none is to be called suspect, and no two halves of a cell different."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from validation.campaigns import carry_out
from validation.section import Check, Section
from vtax.results import Result
from vtax.statistics import compare, discoveries, proportion_interval

SUSPECT_SHARE = 0.01
FALSE_DISCOVERY_RATE = 0.05
COMPARISONS = 1000
"""Of one family, spread over all series."""
FAMILIES = 200
QUANTITIES = ("received_mbps", "latency_p50_ns", "cpu_percent")

TEXT = f"""
A campaign on a machine that does nothing else: every platform family, two frame sizes, two paced loads and a flood,
half a second each. **False verdicts**: nothing disturbs the trials, so that whatever is said against one is said
wrongly, unless the machine below disturbed it.

**A against A**: the trials of a cell are split at random into two halves, which are then compared as two platforms
would be, in received load, median delay and CPU of the UUT (Welch's test of the logarithms). {COMPARISONS} such
comparisons are one family, corrected together (Benjamini and Hochberg 1995). As no difference is true, all
discoveries of a family that has any are false: the share of such families is the false discovery rate, here over
{FAMILIES} draws of the whole family.
"""


def run(directory: Path) -> Section:
    """500 trials and more, once; then only arithmetic."""
    result = carry_out("undisturbed", directory / "campaign")
    checks = (*_verdicts(result), _against_itself(list(_series(result))))
    return Section("Undisturbed trials", TEXT, checks)


def _verdicts(result: Result) -> Iterator[Check]:
    rows = result.query("SELECT verdict, reasons FROM trials").to_pylist()
    said = [f"{row['verdict']}: {'; '.join(row['reasons'])}" for row in rows if row["verdict"] != "valid"]
    for verdict, allowed in (("suspect", SUSPECT_SHARE), ("invalid", 0.0)):
        count = sum(row["verdict"] == verdict for row in rows)
        share = proportion_interval(count, len(rows))
        yield Check(
            f"trials called {verdict}",
            f"{count} of {len(rows)} ({share.mean:.1%}; {share.low:.1%} to {share.high:.1%})",
            f"at most {allowed:.0%}",
            share.mean <= allowed,
            " ".join(f"{text}." for text in said if text.startswith(verdict)) or None,
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
        f"at most {FALSE_DISCOVERY_RATE:.0%}",
        rate.mean <= FALSE_DISCOVERY_RATE,
    )
