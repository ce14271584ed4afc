"""Simulated campaigns by turns that look at every rule after each quad: how often they are wrong, and when they end."""

from pathlib import Path
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from validation.section import Check, Section
from vtax.statistics.centre import centre_chance
from vtax.statistics.interval import CONFIDENCE
from vtax.statistics.unpaired import FALSE_DISCOVERY_RATE

CAMPAIGNS, CELLS, LEAST, MOST = 1_000, 20, 3, 40
APART: Final = 6
MOSTLY: Final = 0.9
FIXED: Final = {
    (-0.1, 0.02): 4,
    (-0.08, 0.02): 7,
    (0.0, 0.02): 4,
    (-0.1, 0.05): 12,
    (-0.08, 0.05): 30,
    (0.0, 0.05): 13,
}
"""Quads that decide a true change with a scatter nine times in ten, as docs/ab.md has them."""
LIMIT: Final = float(np.log(0.95))
"""Of the rule `throughput<-5%`."""

Values = NDArray[np.float64]
Marks = NDArray[np.bool_]

TEXT = f"""
`vtax ab` looks at its rules after each quad and stops when they are decided. These are {CAMPAIGNS:,} campaigns
of {CELLS} cells each with the rule `throughput<-5%`, looked at after every quad from {LEAST} to {MOST}. Of a cell
*at the limit* the true change is −5%, so that a verdict either way is wrong, and a campaign ends at its first wrong
one. Where one cell in four is, the others are far from the limit on both sides, and most verdicts are right. What is
bounded is the share of wrong verdicts among all of a kind. The other rows have how many quads one cell takes until its
rule is decided, by the scatter of a quad's change, also where some quads stand apart; and how often a number of quads
that is fixed beforehand decides it (`--fixed`).
"""


def run(directory: Path) -> Section:
    """Simulate all; nothing is written to `directory`."""
    rng = np.random.default_rng(20_261)
    checks = [
        *wrong_verdicts("every cell at the limit", np.full(CELLS, LIMIT), 0.03, rng),
        *wrong_verdicts("one cell in four at the limit", _mixed(rng), 0.03, rng),
        *(quads_until_decided(change, scatter, rng) for change, scatter in FIXED),
        *(quads_of_some_apart(change, 0.02, rng) for change in (-0.1, 0.0)),
        *(decided_by(quads, change, scatter, rng) for (change, scatter), quads in FIXED.items()),
    ]
    return Section("Levels by turns", TEXT, tuple(checks))


def _mixed(rng: np.random.Generator) -> Values:
    """The limit itself in a quarter of the cells, no change and a change of −12% in the others."""
    levels = np.repeat([LIMIT, 0.0, float(np.log(0.88)), 0.0], CELLS // 4)
    rng.shuffle(levels)
    return levels


def wrong_verdicts(what: str, truth: Values, scatter: float, rng: np.random.Generator) -> list[Check]:
    """The share of wrong verdicts of each kind where a campaign ends at its first wrong one."""
    at_limit = truth == LIMIT
    shares: dict[str, list[float]] = {"broken": [], "passed": []}
    for _ in range(CAMPAIGNS):
        values = truth[:, np.newaxis] + scatter * rng.standard_normal((CELLS, MOST))
        for kind, side in (("broken", -1), ("passed", 1)):
            found = next(
                (
                    marks
                    for quads in range(LEAST, MOST + 1)
                    if (marks := _found(values[:, :quads], side))[at_limit].any()
                ),
                _found(values, side),
            )
            shares[kind].append(float(found[at_limit].sum() / max(1, found.sum())))
    return [_rate(f"{what}: {kind} wrongly", np.array(each)) for kind, each in shares.items()]


def _found(values: Values, side: int) -> Marks:
    """The cells beyond the limit on that side, all of them corrected together, as `vtax.views.compare.rules` has it."""
    away = (values.mean(axis=1) - LIMIT) * side
    chances = np.where(away > 0, centre_chance(values, LIMIT), 1.0)
    ranked = np.sort(chances)
    below = ranked <= FALSE_DISCOVERY_RATE * np.arange(1, len(ranked) + 1) / len(ranked)
    return np.asarray(chances <= (ranked[below][-1] if below.any() else -1.0))


def quads_until_decided(change: float, scatter: float, rng: np.random.Generator) -> Check:
    """How many quads one cell takes by itself; nothing is asked of it but that 99% of the verdicts are right."""
    values = np.log1p(change) + scatter * rng.standard_normal((CAMPAIGNS, 400))
    return _until_decided(
        f"a change of {100 * change:+.0f}% with a scatter of {100 * scatter:.0f}%", change, values
    )


def quads_of_some_apart(change: float, scatter: float, rng: np.random.Generator) -> Check:
    """The same where one quad in ten has another scatter, so that it mostly stands apart."""
    apart = np.where(rng.random((CAMPAIGNS, 400)) < 0.1, APART, 1.0)
    values = np.log1p(change) + scatter * apart * rng.standard_normal((CAMPAIGNS, 400))
    what = f"a change of {100 * change:+.0f}% with a scatter of {100 * scatter:.0f}%, of one quad in ten {APART} times"
    return _until_decided(what, change, values)


def _until_decided(what: str, change: float, values: Values) -> Check:
    open_cells, ended, right = np.ones(CAMPAIGNS, dtype=bool), np.zeros(CAMPAIGNS), 0
    for quads in range(LEAST, values.shape[1] + 1):
        seen = values[:, :quads]
        decided = open_cells & (centre_chance(seen, LIMIT) <= FALSE_DISCOVERY_RATE)
        right += int((decided & ((seen.mean(axis=1) > LIMIT) == (np.log1p(change) > LIMIT))).sum())
        ended[decided] = quads
        open_cells &= ~decided
        if not open_cells.any():
            break
    median, most = np.quantile(ended[~open_cells], [0.5, 0.9])
    return Check(
        f"{what}: quads until it is decided",
        f"median {median:.0f}, nine in ten within {most:.0f}; {right} of {CAMPAIGNS} right",
        "99% right",
        right >= 0.99 * CAMPAIGNS,
    )


def decided_by(quads: int, change: float, scatter: float, rng: np.random.Generator) -> Check:
    """How often so many quads decide one cell, judged once: by Student's interval, as `vtax ab --fixed` does."""
    values = np.log1p(change) + scatter * rng.standard_normal((CAMPAIGNS, quads))
    distance = np.abs(values.mean(axis=1) - LIMIT) / (values.std(axis=1, ddof=1) / quads**0.5)
    decided = distance > scipy.special.stdtrit(quads - 1, (1 + CONFIDENCE) / 2)
    right = decided & ((values.mean(axis=1) > LIMIT) == (np.log1p(change) > LIMIT))
    what = f"a change of {100 * change:+.0f}% with a scatter of {100 * scatter:.0f}%"
    return Check(
        f"{what}: decided by {quads} quads, judged once",
        f"{right.mean():.1%} rightly, {(decided & ~right).mean():.1%} wrongly",
        f"{MOSTLY:.0%} rightly",
        bool(right.mean() >= MOSTLY),
    )


def _rate(what: str, shares: Values) -> Check:
    rate, error = 100 * float(shares.mean()), 200 * float(shares.std()) / len(shares) ** 0.5
    return Check(
        what, f"{rate:.1f} ± {error:.1f}% of {len(shares):,} campaigns", "at most 5%", rate - error <= 5
    )
