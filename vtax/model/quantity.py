"""A quantity that claims are about: its name in their file, how it is shown, and what a cell has of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vtax.model.cell import Cell
from vtax.model.metric import Metric
from vtax.model.numbers import Format
from vtax.model.sample import Sample


@dataclass(frozen=True)
class Quantity:
    """`name` has the unit of the values, `unit` that in which `form` shows them.

    `sample` returns a cell's values; None where the cell has none. A quantity without it is no cell's own.
    """

    name: str
    unit: str
    form: Format
    sample: Callable[[Cell], Sample | None] | None = None

    @classmethod
    def of(cls, name: str, metric: Metric) -> Quantity:
        """Return a metric as a quantity of that name."""
        return cls(name, metric.unit, metric.form, lambda cell: cell.sample(metric))
