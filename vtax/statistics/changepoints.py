"""Where the level of a series of campaigns changes for good, or for a while.

The values are one a campaign, in the order of time. Campaigns that follow one another are alike: what a machine was
yesterday it mostly is today. So a change of level is asked for beside such likeness, an autocorrelation of first order
(AR(1)) of 0 to 0.7. The evidence is a likelihood ratio: how much likelier the values are with a step, or with a stretch
at another level, than with neither, each at the autocorrelation that suits it best (generalised least squares;
Hamilton, Time Series Analysis, 1994, chapters 5 and 8). How large it becomes by chance is known from simulated series
without a change, `BY_CHANCE`, at that autocorrelation at which it becomes largest. Of the false alarms that are allowed
three in four are left to steps (Bonferroni, weighted). The changes are those of the optimal partition (PELT: Killick,
Fearnhead and Eckley, Journal of the American Statistical Association 107, 2012), each of which must gain as much as
chance does one time in twenty.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

LEAST_VALUES: Final = 8
"""Of fewer nothing is likely enough."""
AUTOCORRELATIONS: Final = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
"""Beyond the largest a series drifts, and a level is nothing that it has."""
CHANCES: Final = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
Reached = tuple[float, ...]
BY_CHANCE: Final[dict[int, tuple[Reached, Reached]]] = {
    8: (
        (5.4, 8.6, 10.6, 12.4, 14.9, 16.8, 18.8, 21.1, 22.8),
        (1.0, 3.3, 5.2, 7.0, 9.4, 11.3, 13.0, 15.4, 17.3),
    ),
    10: (
        (5.7, 9.0, 10.9, 12.7, 15.0, 16.8, 18.4, 20.5, 22.0),
        (3.5, 6.8, 9.0, 11.0, 13.6, 15.5, 17.1, 19.4, 21.3),
    ),
    12: (
        (5.9, 9.2, 11.1, 12.9, 15.2, 17.0, 18.8, 20.6, 22.1),
        (5.3, 8.8, 10.9, 12.9, 15.3, 17.2, 19.1, 21.2, 22.9),
    ),
    15: (
        (6.0, 9.3, 11.3, 13.1, 15.4, 17.1, 18.7, 20.9, 22.6),
        (7.1, 10.6, 12.7, 14.7, 17.0, 18.7, 20.4, 22.9, 24.4),
    ),
    20: (
        (6.1, 9.4, 11.5, 13.3, 15.6, 17.3, 18.8, 20.7, 22.2),
        (8.7, 12.2, 14.3, 16.3, 18.5, 20.3, 22.2, 24.4, 26.5),
    ),
    30: (
        (6.2, 9.4, 11.4, 13.3, 15.7, 17.6, 19.3, 21.6, 22.9),
        (10.3, 13.6, 15.7, 17.7, 20.1, 21.7, 23.3, 25.5, 26.7),
    ),
    40: (
        (6.3, 9.4, 11.3, 13.2, 15.5, 17.3, 19.1, 21.6, 23.3),
        (11.2, 14.4, 16.5, 18.4, 20.9, 22.6, 24.5, 26.9, 28.4),
    ),
    60: (
        (6.4, 9.3, 11.2, 13.1, 15.4, 16.9, 18.6, 20.8, 22.6),
        (9.8, 12.9, 14.9, 16.8, 19.1, 20.8, 22.4, 24.9, 26.8),
    ),
    100: (
        (6.5, 9.3, 11.2, 13.0, 15.3, 16.9, 18.4, 20.4, 22.2),
        (9.5, 12.5, 14.5, 16.3, 18.6, 20.3, 21.7, 23.6, 24.9),
    ),
    200: (
        (6.6, 9.3, 11.2, 13.0, 15.1, 16.6, 18.3, 20.4, 21.9),
        (9.5, 12.4, 14.3, 16.1, 18.3, 20.0, 21.4, 23.6, 24.8),
    ),
}
"""The evidence for a step, and for a stretch, that series of so many values with neither reach with these CHANCES.

`python -m scripts.level_changes` simulates them.
"""
SHARES: Final = (0.75, 0.2)
"""Of the false alarms that are allowed, those for steps and for stretches; the rest is for the table's own error."""
LEAST_P_VALUE: Final = 1e-6
_LEAST_SEGMENT: Final = 2
"""One campaign that stands out is an outlier, and no new level."""
_LEAST_STRETCH: Final = 4
_PLACES: Final = 40
"""A stretch is looked for between so many places of a longer series."""

Values = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class ChangePoints:
    """`places` are the indices of the first value of each new level; `p_value` is of there being any at all."""

    places: tuple[int, ...]
    p_value: float


@dataclass(frozen=True)
class Evidence:
    """How much likelier each of many series is with a step, and with a stretch.

    `ratios` are twice the logarithms of the likelihoods' ratios, of shape (2, series). `variance` is that of a mean
    over many values, times their number, where the likelier of both is taken out.
    """

    ratios: Values
    variance: Values


def change_points(values: Sequence[float]) -> ChangePoints | None:
    """Return where the level of `values` changes; None of fewer than eight. ValueError for one that is not finite."""
    series = np.asarray(values, dtype=float)
    if not np.isfinite(series).all():
        raise ValueError(f"a series needs finite values: {list(values)!r}")
    if len(series) < LEAST_VALUES:
        return None
    if not np.ptp(series):
        return ChangePoints((), 1.0)
    scaled = (series - series.mean()) / series.std()
    found = evidence(scaled[np.newaxis])
    chances = (
        chance_of(float(ratio), by_chance) / share
        for ratio, by_chance, share in zip(found.ratios[:, 0], table_of(len(series)), SHARES, strict=True)
    )
    p_value = min(1.0, *chances)
    if p_value > CHANCES[2]:
        return ChangePoints((), p_value)
    import ruptures  # with what it imports, which takes longer than most commands do

    enough = float(table_of(len(series))[0][CHANCES.index(0.05)])
    search = ruptures.Pelt(model="l2", min_size=_LEAST_SEGMENT, jump=1).fit(scaled)
    ends = search.predict(pen=enough * float(found.variance[0]))
    return ChangePoints(tuple(int(end) for end in ends[:-1]), p_value)


def chance_of(ratio: float, by_chance: Values) -> float:
    """Return how likely chance reaches that evidence, given what it reaches with the CHANCES.

    Beyond the rarest of them the logarithm goes on falling as it did before.
    """
    reached = np.array([0.0, *by_chance])
    logarithms = np.log([1.0, *CHANCES])
    if ratio <= reached[-1]:
        return float(np.exp(np.interp(ratio, reached, logarithms)))
    slope = (logarithms[-1] - logarithms[-4]) / (reached[-1] - reached[-4])
    return max(LEAST_P_VALUE, math.exp(logarithms[-1] + slope * (ratio - reached[-1])))


@lru_cache(maxsize=256)
def table_of(n: int) -> Values:
    """Return the evidence by chance of series of `n` values, between those that were simulated: (2, chances)."""
    lengths = sorted(BY_CHANCE)
    reached = np.array([BY_CHANCE[length] for length in lengths]).reshape(len(lengths), -1)
    found = [np.interp(math.log(n), np.log(lengths), column) for column in reached.T]
    return np.array(found).reshape(len(SHARES), -1)


def evidence(rows: Values) -> Evidence:
    """Return the evidence for a change of level in each row."""
    n = rows.shape[1]
    begins, ends = _alternatives(n)
    neither, variance = (np.full(len(rows), np.inf) for _ in range(2))
    either = np.full((len(SHARES), len(rows)), np.inf)
    for phi in AUTOCORRELATIONS:
        squares, gains = _squares(rows, phi, begins, ends)
        step = ends == n
        most = np.array([gains[:, step].max(axis=1), gains[:, ~step].max(axis=1)])
        left = np.maximum(squares - most, 1e-12 * squares)
        penalty = -math.log(1 - phi**2)
        neither = np.minimum(neither, n * np.log(squares) + penalty)
        found = n * np.log(left) + penalty
        likelier = found.min(axis=0) < either.min(axis=0)
        variance = np.where(likelier, left.min(axis=0) / n / (1 - phi) ** 2, variance)
        either = np.minimum(either, found)
    return Evidence(neither - either, variance)


@lru_cache(maxsize=64)
def _alternatives(n: int) -> tuple[Places, Places]:
    """Where changes may begin and end: steps anywhere, with `n` for an end, and stretches between some places."""
    all_places = np.arange(_LEAST_SEGMENT, n - _LEAST_SEGMENT + 1)
    some = all_places[:: max(1, math.ceil(n / _PLACES))]
    first, last = (side.ravel() for side in np.meshgrid(some, some, indexing="ij"))
    apart = last - first >= _LEAST_STRETCH
    return (
        np.concatenate([all_places, first[apart]]),
        np.concatenate([np.full(len(all_places), n), last[apart]]),
    )


def _squares(rows: Values, phi: float, begins: Places, ends: Places) -> tuple[Values, Values]:
    """Of each row, the innovations' sum of squares about one mean, and what each change of level explains of it.

    Innovations are what a value adds to what the one before it foretold. A level adds to them what it adds to the
    values, less what of it was foretold.
    """
    n, rest = rows.shape[1], 1 - phi
    added = np.concatenate([rows[:, :1] * math.sqrt(1 - phi**2), rows[:, 1:] - phi * rows[:, :-1]], axis=1)
    mean = np.full(n, rest)
    mean[0] = math.sqrt(1 - phi**2)
    weight = mean @ mean
    by_mean = added @ mean
    squares = (added**2).sum(axis=1) - by_mean**2 / weight
    # A step at k adds 1 to innovation k, and `rest` to each later one; at n it adds nothing.
    places = np.arange(n + 1)
    later = np.maximum(n - places - 1, 0)
    inside = places < n
    sums = np.concatenate([added.cumsum(axis=1), np.zeros((len(rows), 1))], axis=1)
    total = sums[:, n - 1 : n]
    at = np.concatenate([added, np.zeros((len(rows), 1))], axis=1)
    by_step = np.where(inside, at + rest * (total - sums), 0.0)
    step_by_mean = np.where(inside, rest + rest**2 * later, 0.0)
    step_by_step = np.where(inside, 1 + rest**2 * later, 0.0)
    # Two steps, the later at j: where that begins, the earlier adds `rest`.
    across = np.where(ends < n, rest + rest**2 * later[ends], 0.0)
    own = by_step[:, begins] - by_step[:, ends]
    own_by_mean = step_by_mean[begins] - step_by_mean[ends]
    own_by_own = step_by_step[begins] + step_by_step[ends] - 2 * across
    beside = own - by_mean[:, np.newaxis] * own_by_mean / weight
    return squares, np.asarray(beside**2 / (own_by_own - own_by_mean**2 / weight))
