"""Which trials are missing, doubtful or too few."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vtax.model import numbers
from vtax.model.cell import Cell
from vtax.model.estimate import Estimate
from vtax.model.metric import Metric
from vtax.statistics import proportion_interval
from vtax.views.caveats.caveat import Caveat, cells_text
from vtax.views.delay import DelayPercentile
from vtax.views.efficiency import Efficiency
from vtax.views.precision import Reached
from vtax.views.verdicts import CellVerdict, VerdictCount

NAMED_AT_MOST = 6
"""Cells that are named one by one before the rest is only counted."""

GUEST_DIED = re.compile(r"(the guest|guest\d+) died")
"""How the reason of a trial begins of which a guest died, which is a result and no fault of the trial."""


def unusable(verdicts: Sequence[VerdictCount], cells: Sequence[CellVerdict]) -> list[Caveat]:
    """Cells without a usable trial."""
    unusable = [cell for cell in cells if not cell.usable]
    if not unusable:
        return []
    platforms = {cell.platform for cell in unusable}
    reasons = {row.reason for row in verdicts if row.verdict == "invalid" and row.platform in platforms}
    return [
        Caveat(
            f"{cells_text(len(unusable))} without a usable trial",
            f"{_named(unusable)}. Reasons: {'; '.join(sorted(reasons - {''})) or 'none'}.",
        )
    ]


def guest_deaths(verdicts: Sequence[VerdictCount]) -> list[Caveat]:
    """Guests that died."""
    died = [row for row in verdicts if row.verdict != "invalid" and GUEST_DIED.match(row.reason)]
    if not died:
        return []
    trials = sum(row.trials for row in died)
    platforms = ", ".join(dict.fromkeys(row.platform for row in died))
    return [
        Caveat(
            f"A guest died in {trials} trial{'' if trials == 1 else 's'} (platform {platforms})",
            "The means include the resulting loss.",
        )
    ]


def suspect(verdicts: Sequence[VerdictCount]) -> list[Caveat]:
    """Suspect trials, which are in the means."""
    reasons: dict[str, int] = {}
    for row in verdicts:
        if row.verdict == "suspect" and not GUEST_DIED.match(row.reason):
            reasons[row.reason] = reasons.get(row.reason, 0) + row.trials
    if not reasons:
        return []
    listed = "; ".join(f"{trials}× {reason or 'no reason given'}" for reason, trials in reasons.items())
    return [Caveat("The means include suspect trials", f"{listed}.")]


def late(percentiles: Sequence[DelayPercentile]) -> list[Caveat]:
    """Quantiles of delay that some repetitions do not have, since their source was late."""
    late = [row for row in percentiles if row.late]
    if not late:
        return []
    without = sum(1 for row in late if row.delay_ns is None)
    return [
        Caveat(
            f"{len(late)} of {len(percentiles)} quantiles of delay leave out repetitions",
            "In these repetitions frames left the source as late as they took from there on: the quantile is due more "
            f"to the source than to the platform. {without} are withheld altogether.",
        )
    ]


def left_out(cells: Sequence[CellVerdict]) -> list[Caveat]:
    """Invalid trials, which are not."""
    affected = [cell for cell in cells if cell.usable and cell.invalid]
    if not affected:
        return []
    worst = max(affected, key=lambda cell: cell.left_out)
    return [
        Caveat(
            f"Invalid trials left out of {cells_text(len(affected))}",
            f"At most {numbers.share(worst.left_out)} of a cell's trials ({worst.name}).",
        )
    ]


def few_repetitions(rates: Sequence[Estimate]) -> list[Caveat]:
    """Single repetitions."""
    single = [rate for rate in rates if rate.n < 2]
    if not single:
        return []
    return [
        Caveat(
            f"{cells_text(len(single))} with n=1",
            "One usable repetition gives no interval: a difference cannot be distinguished from chance.",
        )
    ]


def apart(main: Metric, cells: Sequence[Cell]) -> list[Caveat]:
    """Trials that stand apart from the others of their cell, and how many may though none does."""
    known = [(cell, found) for cell in cells if (found := cell.estimate(main)) and found.n > 2]
    if not known:
        return []
    standing = [(cell, found) for cell, found in known if found.apart]
    least = min(found.n for _, found in known)
    most = numbers.share(proportion_interval(0, least).high or 1.0)
    unseen = f"Up to {most} of a cell's trials may all the same, if none of {least} does."
    if not standing:
        return [Caveat("No trial stands apart from the others of its cell", unseen)]
    cell, found = max(standing, key=lambda each: each[1].apart / each[1].n)
    of_all = proportion_interval(found.apart, found.n, 1 - 0.05 / len(known))
    low, high = (numbers.share(end or 0.0) for end in (of_all.low, of_all.high))
    return [
        Caveat(
            f"Trials stand apart from the others in {cells_text(len(standing))}",
            f"By {main.title}; one cell in forty seems to have some by chance. At most {found.apart} of {found.n} do: "
            f"{numbers.share(of_all.mean)} [{low}, {high}], for all {len(known)} cells together "
            f"({cell.platform}, {cell.name}). {unseen}",
        )
    ]


def wide(reached: Sequence[Reached]) -> list[Caveat]:
    """Intervals wider than asked for."""
    wide = [row for row in reached if not row.reached]
    if not wide:
        return []
    return [
        Caveat(
            f"{len(wide)} of {len(reached)} intervals wider than requested",
            "The repetitions or the time budget ran out first: see the table Precision.",
        )
    ]


def no_efficiency(efficiency: Sequence[Efficiency]) -> list[Caveat]:
    """Efficiencies that could not be formed."""
    problems = [row.problem for row in efficiency if row.problem]
    if not problems:
        return []
    return [
        Caveat(f"{cells_text(len(problems))} without an efficiency", f"{'; '.join(dict.fromkeys(problems))}.")
    ]


def _named(cells: Sequence[CellVerdict]) -> str:
    names = [cell.name for cell in cells[:NAMED_AT_MOST]]
    rest = len(cells) - len(names)
    return "; ".join(names) + (f"; and {rest} more" if rest else "")
