"""What a cell lost against its reference: throughput, or time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from vtax.model import numbers
from vtax.model.estimate import Estimate, estimate
from vtax.statistics import Difference, Interval, pick_differences
from vtax.statistics.paired import ByBlock
from vtax.views.diagnosis.evidence import CellEvidence
from vtax.views.diagnosis.references import Pair, Rule
from vtax.views.diagnosis.trials import Column, Metric, Trials
from vtax.views.provenance import BULK, FORWARDING


@dataclass(frozen=True)
class Quantity:
    """Something that is lost when it gets less, or, of a time, more. `column` is what trials tell of it."""

    column: str
    unit: str
    form: numbers.Format
    verb: str
    is_time: bool = False

    def of(self, trials: Trials) -> Column:
        """Its value in trials."""
        return trials.value(self.column)


RECEIVED = Quantity("received_mbps", "Mbit/s", numbers.mbps, "receives")
GOODPUT = Quantity("goodput_mbps", "Mbit/s", numbers.mbps, "receives")
DELIVERED = Quantity("delivered_ratio", "% of what is sent", numbers.ratio_as_percent, "delivers")
MEDIAN_DELAY = Quantity("latency_p50_ns", "µs", numbers.microseconds, "has a median delay of", is_time=True)
MEAN_TIME = Quantity("latency_mean_ns", "µs", numbers.microseconds, "has a mean time of", is_time=True)
ROUND_TRIP = Quantity("rtt_ns", "µs", numbers.microseconds, "has a round trip of", is_time=True)


@dataclass(frozen=True)
class Effect:
    """What a cell lost: `lost` is positive, in the unit of the quantity; `by_block` are the values behind it.

    `measured` and `reference` are the two sides' means over the blocks that both have.
    """

    quantity: Quantity
    lost: Estimate
    measured: float
    reference: float
    by_block: ByBlock


@dataclass(frozen=True)
class Affected:
    """A pair whose cell lost something; the first effect is the one that is explained."""

    pair: Pair
    effects: tuple[Effect, ...]


def quantities(kind: str, rule: Rule) -> tuple[Quantity, Quantity]:
    """What is compared of a kind of workload. At another load not how much came is, but how much of what was sent."""
    if kind == FORWARDING:
        return (DELIVERED if rule is Rule.LOAD else RECEIVED), MEDIAN_DELAY
    return (GOODPUT, ROUND_TRIP) if kind == BULK else (DELIVERED, MEAN_TIME)


def find_effects(pairs: Sequence[Pair], kind: str) -> tuple[list[Affected], float]:
    """The pairs that lost something for certain, among all comparisons made, and the confidence of the intervals."""
    asked = [(pair, quantity) for pair in pairs for quantity in quantities(kind, pair.rule)]
    told = [(pair, quantity, _loss(pair, quantity)) for pair, quantity in asked]
    compared = [(pair, quantity, loss) for pair, quantity, loss in told if loss]
    picked = pick_differences([interval_of(loss, pair.cell) for pair, _, loss in compared])
    found: dict[int, list[Effect]] = {}
    for (pair, quantity, loss), interval in zip(compared, picked.intervals, strict=True):
        if interval is not None and interval.mean > 0:
            found.setdefault(id(pair), []).append(_effect(pair, quantity, loss, interval))
    affected = [Affected(pair, tuple(found[id(pair)])) for pair in pairs if id(pair) in found]
    return affected, picked.confidence


def interval_of(by_block: ByBlock, cell: CellEvidence) -> Difference:
    """The interval of a difference's mean over blocks, at any confidence."""
    values = np.fromiter(by_block.values(), dtype=float, count=len(by_block))
    return partial(cell.mean, values)


def differences(pair: Pair, metric: Metric) -> dict[int, float]:
    """What the cell has more of a metric than its reference, in each block that has both."""
    (blocks, measured), (others, reference) = pair.cell.means(metric), pair.reference.means(metric)
    if not np.array_equal(blocks, others):
        blocks, here, there = np.intersect1d(blocks, others, assume_unique=True, return_indices=True)
        measured, reference = measured[here], reference[there]
    return dict(zip(blocks.tolist(), (measured - reference).tolist(), strict=True))


def left_out(pair: Pair) -> float:
    """Share of the trials of both sides that are invalid."""
    return (pair.cell.invalid + pair.reference.invalid) / (pair.cell.recorded + pair.reference.recorded)


def _loss(pair: Pair, quantity: Quantity) -> dict[int, float]:
    more = differences(pair, quantity.of)
    return more if quantity.is_time else {block: -value for block, value in more.items()}


def _effect(pair: Pair, quantity: Quantity, loss: ByBlock, interval: Interval) -> Effect:
    sides = (side.by_block(quantity.of) for side in (pair.cell, pair.reference))
    measured, reference = (sum(side[block] for block in loss) / len(loss) for side in sides)
    return Effect(quantity, estimate(interval, left_out(pair)), measured, reference, loss)
