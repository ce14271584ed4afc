"""What was measured by turns: two blocks, A B and B A, are one value of each level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean

from vtax.views.metrics import MeasuredCell


def in_quads(cell: MeasuredCell) -> MeasuredCell:
    """Return a cell whose values by block are by quad: the mean of its two blocks, one of which may be zero.

    What rises or falls evenly over a quad is then in both levels alike. A quad has no value where one of its blocks has
    none.
    """
    return replace(cell, by_block={name: _in_quads(values) for name, values in cell.by_block.items()})


def _in_quads(values: Mapping[int, float]) -> dict[int, float]:
    return {
        block // 2: fmean((value, values[block + 1]))
        for block, value in values.items()
        if block % 2 == 0 and block + 1 in values
    }
