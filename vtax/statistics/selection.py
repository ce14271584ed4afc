"""The maximum over loads: the throughput that a platform reaches at the load that suits it best.

The load is picked for its mean, and the largest of several means is too high on average. So the estimate takes
each block's value at the load that other blocks pick: half of all blocks, in every way to choose them
(cross-validation by repeated halves; Stone, Journal of the Royal Statistical Society B 36, 1974). A block has no
part in picking the load it is read at, and so nothing favours it: the estimate is free of bias for the true mean
of the loads picked. That mean is the maximum itself where one load stands out, or several are equally good; in
between it is below by the little that a wrong pick costs. No estimate is free of bias for the largest of unknown
means in every case (Blumenthal and Cohen, Journal of the American Statistical Association 63, 1968).

Where values of the best load stand apart from its others, it is the one with the largest median, and what its own
blocks come to is the estimate. Its interval misses by its share of what all loads that may be as good may miss together
(Bonferroni), so that it holds although it was picked.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import combinations
from statistics import median
from typing import Final, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from vtax.statistics.apart import median_rank, standing_apart, typical_interval
from vtax.statistics.interval import CONFIDENCE, Interval, exponential, mean_interval
from vtax.statistics.paired import ByBlock, paired_ratio
from vtax.statistics.winner import Values, difference_bounds, maximum_bounds

Load = TypeVar("Load", bound=Hashable)

HALVES_AT_MOST: Final = 252
"""Ways to choose half of the blocks that are taken: all of them up to ten blocks, as many drawn of more."""


@dataclass(frozen=True)
class Selection(Generic[Load]):
    """The load with the largest mean, and the maximum itself.

    `interval` is of the largest of the loads' true means. `by_block` holds each block's value at the loads that
    other blocks pick, and their mean is the estimate, or those of the load whose median is. One block alone picks the
    load it is read at: its value is too high on average, and has no interval.
    """

    load: Load
    interval: Interval
    by_block: Mapping[int, float]


def select_maximum(
    loads: Mapping[Load, ByBlock], confidence: float = CONFIDENCE, share: float = 0.0
) -> Selection[Load] | None:
    """Return the load whose mean over its blocks is the largest (schlosser2011 3.3, Fig. 4), and that maximum.

    `loads` maps each load to {block: value}. Of equal means the first one counts; loads without values are
    passed over; None where no load has any. Values may differ by a `share` of them though nothing does.
    """
    table = _table(loads)
    if table is None:
        return None
    names, blocks, values = table
    if _stand_apart(values, share):
        picked = _by_median(blocks, values, confidence)
        own = [*picked.own.values()]
        found = typical_interval(own, picked.confidence, share * median(own))
        if found.high is not None:
            found = replace(found, high=max(found.high, picked.reach))
        return Selection(names[picked.load], found, picked.own)
    best = int(np.nanmean(values, axis=0).argmax())
    by_block = _at_picked_loads(*_where(best, blocks, values))
    found = mean_interval([*by_block.values()], confidence)
    if found.n > 1:
        low, high = maximum_bounds(_of_load(values, best), confidence)
        found = replace(found, low=min(low, found.mean), high=max(high, found.mean))
    return Selection(names[best], found, by_block)


def ratio_of_maxima(
    measured: Mapping[Load, ByBlock],
    reference: Mapping[Load, ByBlock],
    confidence: float = CONFIDENCE,
    share: float = 0.0,
) -> Interval | None:
    """Return the ratio of two maxima over loads, paired within blocks; None where no block has both.

    Logarithms as in `paired_ratio`, each block's values at the loads that other blocks pick, and bounds for
    both selections. A side whose best load carried nothing in some block has no bounds.
    """
    both = _blocks(measured) & _blocks(reference)
    one, other = (_table(_within(loads, both)) for loads in (measured, reference))
    if one is None or other is None:
        return None
    if any(_stand_apart(values, share) for _, _, values in (one, other)):
        picked = [_by_median(blocks, values, confidence) for _, blocks, values in (one, other)]
        each = 1 - (1 - confidence) / math.prod(side.contenders for side in picked)
        return paired_ratio(picked[0].own, picked[1].own, each, partial(typical_interval, step=share))
    first, second = (
        _at_picked_loads(*_where(int(np.nanmean(values, axis=0).argmax()), blocks, values))
        for _, blocks, values in (one, other)
    )
    plain = paired_ratio(first, second, confidence)
    if plain is None:
        return None
    without_bounds = replace(plain, low=None, high=None)
    own, others = _logarithms(one[2]), _logarithms(other[2])
    if own is None or others is None:
        return without_bounds
    best, other_best = (int(np.nanmean(side, axis=0).argmax()) for side in (own, others))
    rows = np.isfinite(own[:, best]) & np.isfinite(others[:, other_best])
    n = int(rows.sum())
    if n < 2:
        return without_bounds
    own, others = _of_load(own[rows], best), _of_load(others[rows], other_best)
    low, high = (exponential(bound) for bound in difference_bounds(own, others, confidence))
    return replace(plain, low=min(low, plain.mean), high=max(high, plain.mean), n=n)


class _Picked(NamedTuple):
    """The load with the largest median of `contenders` that may be as good, which reach as far as `reach`."""

    load: int
    own: dict[int, float]
    contenders: int
    reach: float
    confidence: float


def _stand_apart(values: Values, share: float) -> bool:
    """Whether some values stand apart from the others of the load with the largest mean, or with the largest median."""
    best = {int(of(values, axis=0).argmax()) for of in (np.nanmean, np.nanmedian)}
    columns = [values[np.isfinite(values[:, load]), load] for load in best]
    return any(standing_apart(column, share * float(np.median(column))) for column in columns)


def _by_median(blocks: Sequence[int], values: Values, confidence: float) -> _Picked:
    """Pick the load with the largest median, and count those that may be as good: the confidence is for all of them."""
    load = int(np.nanmedian(values, axis=0).argmax())
    columns = [np.sort(column[np.isfinite(column)]) for column in values.T]
    ranks = [max(1, median_rank(column, confidence)) for column in columns]
    highs = [float(column[len(column) - rank]) for column, rank in zip(columns, ranks, strict=True)]
    contending = [high for high in highs if high >= columns[load][ranks[load] - 1]]
    own = {
        block: value
        for block, value in zip(blocks, values[:, load].tolist(), strict=True)
        if math.isfinite(value)
    }
    return _Picked(load, own, len(contending), max(contending), 1 - (1 - confidence) / len(contending))


def _where(best: int, blocks: Sequence[int], values: Values) -> tuple[list[int], Values]:
    """The blocks that the best load has: others could only pick loads that are worse."""
    there = np.isfinite(values[:, best])
    return [block for block, has in zip(blocks, there, strict=True) if has], values[there]


def _at_picked_loads(blocks: Sequence[int], values: Values) -> dict[int, float]:
    """Each block's mean value over the loads that halves of the blocks without it pick; all have the best load."""
    if len(blocks) == 1:
        return {blocks[0]: float(np.nanmax(values))}
    known = np.isfinite(values)
    halves = _halves(len(blocks))
    counts = halves @ known
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(counts > 0, halves @ np.where(known, values, 0.0) / counts, -np.inf)
    found = np.empty(len(blocks))
    patterns, pattern_of = np.unique(known, axis=0, return_inverse=True)
    for number, loads in enumerate(patterns):
        rows = np.flatnonzero(pattern_of == number)
        picked = np.where(loads, means, -np.inf).argmax(axis=1)
        without = halves[:, rows].T == 0
        found[rows] = np.mean(values[rows][:, picked], axis=1, where=without)
    return dict(zip(blocks, found.tolist(), strict=True))


@lru_cache(maxsize=64)
def _halves(blocks: int) -> NDArray[np.float64]:
    """Halves of the blocks, a row each with 1 for a block that is in it.

    Of those without a certain block there are all, or of many as many again drawn as are to be taken, of which each
    block is in half.
    """
    size = blocks - blocks // 2
    if math.comb(blocks - 1, size) <= HALVES_AT_MOST:
        chosen = np.array(list(combinations(range(blocks), size)))
    else:
        rng = np.random.default_rng(blocks)
        chosen = rng.random((2 * HALVES_AT_MOST, blocks)).argsort(axis=1)[:, :size]
    rows = np.zeros((len(chosen), blocks))
    np.put_along_axis(rows, chosen, 1.0, axis=1)
    return rows


def _table(loads: Mapping[Load, ByBlock]) -> tuple[list[Load], list[int], Values] | None:
    """Loads with values, blocks, and the values: blocks by loads, NaN where a load has none."""
    names = [load for load, by_block in loads.items() if by_block]
    if not names:
        return None
    blocks = sorted(_blocks(loads))
    values = np.full((len(blocks), len(names)), math.nan)
    for column, name in enumerate(names):
        by_block = loads[name]
        at = np.searchsorted(blocks, np.fromiter(by_block, np.int64, len(by_block)))
        values[at, column] = np.fromiter(by_block.values(), float, len(by_block))
    return names, blocks, values


def _blocks(loads: Mapping[Load, ByBlock]) -> set[int]:
    return set().union(*loads.values())


def _within(loads: Mapping[Load, ByBlock], blocks: set[int]) -> dict[Load, ByBlock]:
    return {
        load: by_block
        if by_block.keys() <= blocks
        else {block: value for block, value in by_block.items() if block in blocks}
        for load, by_block in loads.items()
    }


def _of_load(values: Values, best: int) -> Values:
    """The blocks that the best load has, and of the others those that share two of them and are no better there."""
    used = values[np.isfinite(values[:, best])]
    contending = np.isfinite(used).sum(axis=0) >= min(2, len(used))
    means: Values = used.mean(axis=0, where=np.isfinite(used) | ~contending)
    return np.asarray(used[:, contending & (means <= means[best])])


def _logarithms(values: Values) -> Values | None:
    """Of the loads that carried something in every block; None where the best one did not."""
    positive = np.asarray(~(values <= 0).any(axis=0))
    if (values[:, int(np.nanmean(values, axis=0).argmax())] <= 0).any():
        return None
    return np.asarray(np.log(values[:, positive]))
