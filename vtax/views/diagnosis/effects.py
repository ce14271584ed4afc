"""What a cell lost against its reference: throughput, or time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from vtax.model.diagnosed import Diagnosed, Lost
from vtax.model.estimate import Estimate, estimate
from vtax.statistics import Difference, Interval, pick_differences
from vtax.statistics.paired import ByBlock
from vtax.statistics.resolution import step_of_difference, wider_by
from vtax.views.diagnosis.evidence import CellEvidence
from vtax.views.diagnosis.references import Pair, Rule
from vtax.views.diagnosis.trials import Metric


@dataclass(frozen=True)
class Effect:
    """What a cell lost: `lost` is positive, in the unit of the quantity; `by_block` are the values behind it.

    `measured` and `reference` are the two sides' means over the blocks that both have.
    """

    quantity: Lost
    lost: Estimate
    measured: Estimate
    reference: Estimate
    by_block: ByBlock


@dataclass(frozen=True)
class Affected:
    """A pair whose cell lost something; the first effect is the one that is explained."""

    pair: Pair
    effects: tuple[Effect, ...]


def compared(diagnosed: Diagnosed, rule: Rule) -> tuple[Lost, Lost]:
    """Return what is compared of a pair. At another load not how much came is, but how much of what was sent."""
    return (diagnosed.carried_of_load if rule is Rule.LOAD else diagnosed.carried), diagnosed.time


def find_effects(pairs: Sequence[Pair], diagnosed: Diagnosed) -> tuple[list[Affected], float]:
    """The pairs that lost something for certain, among all comparisons made, and the confidence of the intervals."""
    asked = [(pair, quantity) for pair in pairs for quantity in compared(diagnosed, pair.rule)]
    told = [(pair, quantity, _loss(pair, quantity)) for pair, quantity in asked]
    known = [(pair, quantity, loss) for pair, quantity, loss in told if loss]
    picked = pick_differences([_lost(*each) for each in known])
    found: dict[int, list[Effect]] = {}
    for (pair, quantity, loss), interval in zip(known, picked.intervals, strict=True):
        if interval is not None and interval.mean > 0:
            effect = _effect(pair, quantity, loss, interval, picked.confidence)
            found.setdefault(id(pair), []).append(effect)
    affected = [Affected(pair, tuple(found[id(pair)])) for pair in pairs if id(pair) in found]
    return affected, picked.confidence


def of(quantity: Lost) -> Metric:
    """Return what trials have of a quantity."""
    return lambda trials: trials.value(quantity.column)


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


def _loss(pair: Pair, quantity: Lost) -> dict[int, float]:
    more = differences(pair, of(quantity))
    return more if quantity.is_time else {block: -value for block, value in more.items()}


def _lost(pair: Pair, quantity: Lost, loss: ByBlock) -> Difference:
    """The interval of a loss, wider by the quantity's steps."""
    found = interval_of(loss, pair.cell)
    steps = (
        quantity.resolution.at(float(side.means(of(quantity))[1].mean()))
        for side in (pair.cell, pair.reference)
    )
    step = step_of_difference(*steps)
    return lambda confidence: wider_by(found(confidence), step)


def _effect(pair: Pair, quantity: Lost, loss: ByBlock, interval: Interval, confidence: float) -> Effect:
    measured, reference = (
        _mean(side, quantity, loss.keys(), confidence) for side in (pair.cell, pair.reference)
    )
    return Effect(quantity, estimate(interval, left_out(pair)), measured, reference, loss)


def _mean(side: CellEvidence, quantity: Lost, blocks: Collection[int], confidence: float) -> Estimate:
    """The mean of a quantity over these blocks, all of which have it."""
    values = side.by_block(of(quantity))
    interval = interval_of({block: values[block] for block in blocks}, side)(confidence)
    return estimate(quantity.resolution.of_mean(interval), side.invalid / side.recorded)
