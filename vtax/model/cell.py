"""Cells of a result: which levels each has, how many trials, and what these measured in each block."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import stdev
from typing import NamedTuple

from pydantic import JsonValue

from vtax.model.bound import Limit
from vtax.model.estimate import Estimate
from vtax.model.levels import Dimension, Level, Levels
from vtax.model.metric import Metric
from vtax.model.recorded import Recorded
from vtax.model.sample import Sample
from vtax.statistics import RepeatedInterval, Resolution, repeated_interval

UNKNOWN_CONTEXT = "unknown"
"""The `uut_context` of trials that record none."""

Column = Sequence[float | None]
"""A value for each block of a cell, None where no trial of the block has one."""
ByBlock = Mapping[int, float]


@dataclass(frozen=True)
class Aside:
    """A number of a block that is no mean, in SQL over the block's trials and the metrics that it `needs`."""

    column: str
    sql: str
    needs: tuple[Metric, ...] = ()


class Part(NamedTuple):
    """The values of a stream or guest, one for each block that has one."""

    blocks: Sequence[float]
    values: Sequence[float]

    @property
    def by_block(self) -> dict[int, float]:
        """The values by block."""
        return {int(block): value for block, value in zip(self.blocks, self.values, strict=True)}


@dataclass(frozen=True)
class Parts:
    """What a cell's measured flows have by a column of theirs: a metric of each stream, or of each guest."""

    column: str
    metric: Metric


@dataclass(frozen=True)
class Reading:
    """How cells of a kind of workload are read: the columns that place them, and what bounds their metrics.

    Without a `dimension` the setting says all that cells differ by.

    `limits` returns what bounded a cell's bounded metrics by block in the platform's stead.
    """

    levels: type[Levels]
    dimension: Dimension | None = None
    asides: tuple[Aside, ...] = ()
    parts: Parts | None = None
    limits: Callable[[Cell], Mapping[int, Limit]] | None = None


@dataclass(frozen=True, eq=False)
class Cell(Recorded):
    """A cell of the grid with what its trials of one `uut_context` measured.

    `level` is what cells of the setting differ by. `blocks` are those with a usable trial, in their order; `columns`
    have a value for each of them, by the names of metrics' and asides' columns; `parts` have the values of each stream
    or guest by block. `testbed` has the scenario's keys that no factor varies. `adaptive` tells that what the trials
    showed decided how many there are.
    """

    level: Level
    uut_context: str
    marks: Mapping[str, int]
    blocks: Sequence[int]
    columns: Mapping[str, Column]
    reading: Reading = field(repr=False)
    parts: Mapping[int, Part] = field(default_factory=dict)
    testbed: Mapping[str, JsonValue] = field(default_factory=dict)
    adaptive: bool = False

    @property
    def level_label(self) -> str:
        """The level as a table has it; empty where the setting says it all."""
        dimension = self.reading.dimension
        return dimension.label(self.level) if dimension else ""

    @property
    def name(self) -> str:
        """Setting and level in words, without the further factors."""
        dimension = self.reading.dimension
        level = [dimension.phrase(self.level)] if dimension else []
        return ", ".join([*self.setting.levels.phrases, *level])

    @property
    def level_by_column(self) -> dict[str, Level]:
        """The level by the column that has it; empty where the setting says it all."""
        dimension = self.reading.dimension
        return {dimension.column: self.level} if dimension else {}

    def repeated(self, *, total: bool = False) -> RepeatedInterval:
        """Return how intervals over its blocks are taken; of a `total` the mean is kept, whatever stands apart."""
        return repeated_interval(adaptive=self.adaptive, total=total)

    @property
    def is_usable(self) -> bool:
        """Whether it has a block that can be shown: of a damaged result none may be left."""
        return bool(self.blocks)

    def values(self, column: str) -> Sequence[float]:
        """Return the values of a column, without the blocks that have none."""
        values = self.columns.get(column, ())
        return values if isinstance(values, array) else tuple(value for value in values if value is not None)

    def by_block(self, column: str) -> dict[int, float]:
        """Return {block: value} of a column, without the blocks that have none."""
        values = self.columns.get(column, ())
        return {block: value for block, value in zip(self.blocks, values, strict=False) if value is not None}

    @property
    def limits(self) -> Mapping[int, Limit]:
        """What bounded the values of bounded metrics by block; exact ones are left out."""
        return self.reading.limits(self) if self.reading.limits else {}

    def sample(self, metric: Metric) -> Sample | None:
        """Return a metric's values by block; None where no block has one."""
        values = self.by_block(metric.column)
        limits = self.limits if metric.is_bounded else {}
        if not values:
            return None
        return self.sample_of(values, self.resolution(metric), limits, total=metric.is_total)

    def resolution(self, metric: Metric) -> Resolution:
        """Return how finely a metric's values are known."""
        return metric.resolution_of(self.values(metric.step_column) if metric.step_column else ())

    def sample_of(
        self, values: ByBlock, resolution: Resolution, limits: Mapping[int, Limit], *, total: bool = False
    ) -> Sample:
        """Return values by block as a sample of this cell's."""
        return Sample(
            values=values,
            recorded=self.recorded,
            invalid=self.invalid,
            resolution=resolution,
            repeated=self.repeated(total=total),
            limits=limits,
        )

    def estimate(self, metric: Metric) -> Estimate | None:
        """Return what the blocks come to; None where no block has a value."""
        sample = self.sample(metric)
        return sample.estimate() if sample else None

    def of_parts(self, limits: Mapping[int, Limit]) -> dict[int, Estimate]:
        """Return the mean of each part over its blocks, bounded by these limits."""
        parts = self.reading.parts
        resolution = self.resolution(parts.metric) if parts else Resolution()
        return {
            number: self.sample_of(part.by_block, resolution, limits, total=True).estimate()
            for number, part in self.parts.items()
        }

    def deviation(self, metric: Metric) -> float | None:
        """Return the standard deviation of a metric's values; None where fewer than two blocks have one."""
        values = self.by_block(metric.column).values()
        return stdev(values) if len(values) > 1 else None
