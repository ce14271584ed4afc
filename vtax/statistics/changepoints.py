"""Where the level of a series of campaigns changes for good.

The values are one a campaign, in the order of time. Whether any change is there at all is asked of the best split
in two: how often does the same values' chance order have one as good? That permutation test needs no model of the
noise (Matteson and James, Journal of the American Statistical Association 109, 2014). The changes are then those
of the optimal partition (PELT: Killick, Fearnhead and Eckley, same journal 107, 2012), each of which must gain as
much as chance orders do one time in twenty.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

LEAST_VALUES: Final = 8
"""Of fewer no order is rare enough: even four low and four high ones come together once in 35."""
_LEAST_SEGMENT: Final = 2
"""One campaign that stands out is an outlier, and no new level."""
_ORDERS: Final = 9_999
_SEED: Final = 107

Values = NDArray[np.float64]


@dataclass(frozen=True)
class ChangePoints:
    """`places` are the indices of the first value of each new level; `p_value` is of there being any at all."""

    places: tuple[int, ...]
    p_value: float


def change_points(values: Sequence[float]) -> ChangePoints | None:
    """Return where the level of `values` changes; None of fewer than eight. ValueError for one that is not finite."""
    import ruptures  # with what it imports, which takes longer than most commands do

    series = np.asarray(values, dtype=float)
    if not np.isfinite(series).all():
        raise ValueError(f"a series needs finite values: {list(values)!r}")
    if len(series) < LEAST_VALUES:
        return None
    if not np.ptp(series):
        return ChangePoints((), 1.0)
    scaled = (series - series.mean()) / series.std()
    rng = np.random.default_rng(_SEED)
    by_chance = _best_gains(rng.permuted(np.tile(scaled, (_ORDERS, 1)), axis=1))
    found = float(_best_gains(scaled[np.newaxis])[0])
    rare = (1 + int((by_chance >= found * (1 - 1e-9)).sum())) / (_ORDERS + 1)
    search = ruptures.Pelt(model="l2", min_size=_LEAST_SEGMENT, jump=1).fit(scaled)
    ends = search.predict(pen=float(np.quantile(by_chance, 0.95)))
    return ChangePoints(tuple(int(end) for end in ends[:-1]), rare)


def _best_gains(orders: Values) -> Values:
    """Of each order, a row, by how much its best split in two lessens the sum of squares."""
    n = orders.shape[1]
    first = np.arange(_LEAST_SEGMENT, n - _LEAST_SEGMENT + 1)
    sums = orders.cumsum(axis=1)
    left, whole = sums[:, first - 1], sums[:, -1:]
    gains = left**2 / first + (whole - left) ** 2 / (n - first) - whole**2 / n
    return np.asarray(gains.max(axis=1))
