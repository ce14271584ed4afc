"""Whether two platforms' durations differ in shape and not only in place (matthews2009, section 5)."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vtax.statistics.artifacts.finding import Finding, NotEnough, duration_text
from vtax.statistics.artifacts.series import Series

UNITS: Final = 10
"""Units a side: ten of twenty can be chosen in 184,756 ways."""
VALUES: Final = 20
PERMUTATIONS: Final = 1_999
SHARES: Final = np.linspace(0.01, 0.99, 99)
FIRST_LOOK: Final = 99
ENOUGH: Final = 10
"""So many of the first look as far apart, and more looks would change nothing."""
BINS: Final = 200
MIDDLE: Final = len(SHARES) // 2


@dataclass(frozen=True)
class Shape(Finding):
    """Quantiles are `distance_ns` apart on average, when both sides' medians are laid upon each other.

    The mean over the 1st to the 99th percentile, and so the area between both distribution functions without their
    tails. `shift_ns` is the median less the reference's, `distance_ratio` the distance in deviations of the reference,
    told by its interquartile range over 1.349.
    """

    shift_ns: float
    distance_ns: float
    distance_ratio: float

    @property
    def sentence(self) -> str:
        """How far apart the shapes are, and the medians."""
        return (
            f"Not a shift alone: beside medians {duration_text(self.shift_ns)} apart, durations are distributed "
            f"otherwise than the reference's, by {duration_text(self.distance_ns)} on average, "
            f"{self.distance_ratio:.2g} of its deviations (p = {self.p_value:.1g})."
        )


def look_for_another_shape(series: Series, reference: Series) -> Shape | NotEnough:
    """Hold the distance against that of the same units dealt out to both sides at random, less each side's median.

    Units are runs, or stretches of them where there are fewer than ten: what is alike within stays together.
    """
    units, others = series.units(UNITS, VALUES), reference.units(UNITS, VALUES)
    if units is None or others is None:
        return NotEnough("a change of shape", f"{UNITS * VALUES} samples on both sides")
    shift_ns = float(np.nanmedian(units) - np.nanmedian(others))
    centred = [units - np.nanmedian(units), others - np.nanmedian(others)]
    edges = _edges(np.concatenate([each.ravel() for each in centred]))
    counts = np.concatenate([_counts(each, edges) for each in centred])
    (observed,) = _distances(counts, np.arange(len(counts))[None, :] < len(units), edges)
    p_value = _p_value(float(observed), counts, len(units), edges)
    spread = float(np.subtract(*np.nanquantile(others, [0.75, 0.25]))) / 1.349
    ratio = observed / spread if spread else float("inf")
    return Shape(p_value, shift_ns, float(observed), float(ratio))


def _p_value(observed: float, counts: NDArray[np.float64], first: int, edges: NDArray[np.float64]) -> float:
    """Share of ways to deal the units out that are as far apart; of few ways where many of these are."""
    rng = np.random.default_rng(len(counts))
    as_far = dealt = 0
    for ways in (FIRST_LOOK, PERMUTATIONS - FIRST_LOOK):
        order = rng.random((ways, len(counts))).argsort(axis=1)
        as_far += int((_distances(counts, order < first, edges) >= observed * (1 - 1e-9)).sum())
        dealt += ways
        if as_far >= ENOUGH:
            break
    return (1 + as_far) / (1 + dealt)


def _edges(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bounds of bins with about as many values each, of shape (bins + 1,)."""
    return np.unique(np.nanquantile(values, np.linspace(0, 1, BINS + 1)))


def _counts(units: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values of each unit by bin, as shares of the unit: (units, bins)."""
    bins = np.searchsorted(edges[1:-1], units, side="right")
    bins[np.isnan(units)] = len(edges)
    flat = bins + np.arange(len(units))[:, None] * (len(edges) + 1)
    counts = np.bincount(flat.ravel(), minlength=len(units) * (len(edges) + 1)).reshape(len(units), -1)
    known = counts[:, : max(1, len(edges) - 1)].astype(float)
    return np.asarray(known / np.maximum(known.sum(axis=1, keepdims=True), 1))


def _distances(
    counts: NDArray[np.float64], first: NDArray[np.bool_], edges: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Distance in ns between both sides for each way to deal units to the first, of shape (ways, units)."""
    if len(edges) < 2:
        return np.zeros(len(first))
    one = first.astype(float) @ counts
    apart = _quantiles(one, edges) - _quantiles(counts.sum(axis=0) - one, edges)
    return np.asarray(np.abs(apart - apart[:, [MIDDLE]]).mean(axis=1))


def _quantiles(counts: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quantiles at SHARES of each row of counts by bin, in ns, values spread evenly over their bin: (rows, shares)."""
    up_to = np.concatenate([np.zeros((len(counts), 1)), counts.cumsum(axis=1)], axis=1)
    up_to /= up_to[:, -1:]
    rows = np.arange(len(counts))[:, None]
    wanted = (SHARES + rows).ravel()
    bins = np.searchsorted((up_to + rows)[:, 1:].ravel(), wanted).reshape(len(counts), -1)
    at = np.clip(bins - rows * (len(edges) - 1), 0, len(edges) - 2)
    low, high = up_to[rows, at], up_to[rows, at + 1]
    within = np.clip((SHARES - low) / np.maximum(high - low, 1e-300), 0, 1)
    return np.asarray(edges[at] + within * (edges[at + 1] - edges[at]))
