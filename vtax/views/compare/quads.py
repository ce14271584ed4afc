"""What was measured by turns: two blocks, A B and B A, are one value of each level."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import fmean

from vtax.model.metric import Metric
from vtax.views.metrics import ALL, MeasuredCell


def in_quads(cell: MeasuredCell) -> MeasuredCell:
    """Return a cell whose values by block are by quad: of its two blocks the mean, which is as they are compared.

    What rises or falls evenly over a quad is then in both levels alike. A quad has no value where
    one of its blocks has none.
    """
    known = {metric.name: metric for metric in ALL}
    return replace(
        cell, by_block={name: _in_quads(values, _mean(known[name])) for name, values in cell.by_block.items()}
    )


def _in_quads(values: Mapping[int, float], mean: Callable[[tuple[float, float]], float]) -> dict[int, float]:
    return {
        block // 2: mean((value, values[block + 1]))
        for block, value in values.items()
        if block % 2 == 0 and block + 1 in values
    }


def _mean(metric: Metric) -> Callable[[tuple[float, float]], float]:
    """Of ratios the geometric one."""
    return fmean if metric.points else lambda both: math.sqrt(both[0] * both[1])
