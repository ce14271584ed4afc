"""What is shown of a kind of workload, declared once: how its cells are read, its metrics, its tables, its answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from vtax.model.against import Added, added_to_reference
from vtax.model.cell import Cell, Reading
from vtax.model.diagnosed import ANSWERS, Diagnosed
from vtax.model.metric import Metric
from vtax.model.platform import Platform
from vtax.model.published import Printed, printed_rows
from vtax.model.quantity import Quantity
from vtax.model.sentence import Sentence, without_trials
from vtax.model.table import UNKNOWN, Column, Entry, Number, mean_number
from vtax.results.stored import StoredScenario


@dataclass(frozen=True)
class CellColumn:
    """A column of a table whose rows are cells, and what it shows of one."""

    head: Column
    entry: Callable[[Cell], Entry]


@dataclass(frozen=True)
class PublishedRows:
    """What the repeated paper prints below what was measured: rows of a CSV file beside the scenarios of the paper.

    `is_comparable` returns whether any of the settings measured is a row's own; `entries` are in the table's columns.
    """

    file: str
    is_comparable: Callable[[Printed, Sequence[Cell]], bool]
    heading: Callable[[Printed], str]
    entries: Callable[[Printed], Sequence[Entry]]


class Chapter(StrEnum):
    """The part of a report that a table stands in."""

    NUMBERS = "numbers"
    LEDGER = "ledger"
    HOPS = "hops"
    STAGES = "stages"
    ARTIFACTS = "artifacts"
    VERDICTS = "verdicts"
    TAX = "tax"


@dataclass(frozen=True)
class CellTable:
    """A table with a row a cell: its platform, its level, these columns, the n of one of them, the share left out."""

    name: str
    title: str
    note: str
    columns: tuple[CellColumn, ...]
    n_of: Metric
    chapter: Chapter
    published: PublishedRows | None = None


@dataclass(frozen=True)
class AddedTable:
    """A table of what cells have more of a metric than their reference, one for each group of platforms.

    `title` heads the column, `published` rows stand below native platforms.
    """

    name: str
    title: str
    note: str
    metric: Metric
    column: str = "added"
    published: PublishedRows | None = None


class Facet(StrEnum):
    """What else is made of a kind's cells, beyond what its catalogue declares: views that several kinds may have."""

    LOADS = "loads"
    """Cells are loads of frames: maxima over these, delay by load, the loads that are carried in full."""
    STREAMS = "streams"
    """Cells are streams of guests: their shares of a link, fairness, goodput by length of message."""
    RUNS = "runs"
    """Cells have runs of iterations, several in a block: statistics of rounds, artifacts in their times."""


@dataclass(frozen=True)
class Catalogue:
    """A kind of workload as every view knows it.

    `metrics` are what its campaigns are compared in, `shown` all that its cells show, `claimed` what claims are about,
    `disturbed` what neighbours are held against, `diagnosed` what cells can lose. `answer` states what a platform's
    cells show, in a sentence. `facet` names the views that its cells have in common with other kinds'.
    """

    kind: str
    reading: Reading
    metrics: tuple[Metric, ...]
    shown: tuple[Metric, ...]
    answer: Callable[[Platform, Sequence[Cell], Sequence[Added]], Sentence] | None = None
    tables: tuple[CellTable, ...] = ()
    added: tuple[AddedTable, ...] = ()
    claimed: tuple[Quantity, ...] = ()
    disturbed: Metric | None = None
    diagnosed: Diagnosed = ANSWERS
    facet: Facet | None = None

    @property
    def main(self) -> Metric:
        """The metric that the kind's workload is for: the first that campaigns are compared in."""
        return self.metrics[0]

    def answers(self, platforms: Sequence[Platform], cells: Sequence[Cell]) -> list[Sentence]:
        """Return a sentence for each platform of the campaign, in its order, skipped ones included."""
        if (answer := self.answer) is None:
            return []
        added = added_to_reference(cells, self.main, platforms)

        def sentence(platform: Platform) -> Sentence:
            own = [cell for cell in cells if cell.platform == platform.name and cell.is_usable]
            if platform.skipped_reason or not own:
                return without_trials(platform)
            return answer(platform, own, [row for row in added if row.cell.platform == platform.name])

        return [sentence(platform) for platform in platforms]

    def compared(self, cells: Sequence[Cell], platforms: Sequence[Platform]) -> dict[str, list[Added]]:
        """Return what cells have more than those of their references, by table."""
        return {table.name: added_to_reference(cells, table.metric, platforms) for table in self.added}

    def published(self, scenario: StoredScenario, cells: Sequence[Cell]) -> dict[str, list[Printed]]:
        """Return what the scenario's source prints of what was measured, by table, in the files' order."""
        tables: list[CellTable | AddedTable] = [*self.tables, *self.added]
        return {
            table.name: [row for row in printed_rows(scenario, own.file) if own.is_comparable(row, cells)]
            for table in tables
            if (own := table.published) is not None
        }


def mean_of(metric: Metric, title: str, unit: str | None = None) -> CellColumn:
    """Return a column of a metric's means, with their intervals; `unit` is how the head prints the metric's."""
    head = Column(title, metric.unit if unit is None else unit, numeric=True)
    return CellColumn(head, lambda cell: mean_number(cell.estimate(metric), metric.form))


def deviation_of(metric: Metric, title: str = "s.d.") -> CellColumn:
    """Return a column of the standard deviation of a metric's values by block."""

    def entry(cell: Cell) -> Entry:
        deviation = cell.deviation(metric)
        return Number(UNKNOWN if deviation is None else metric.form(deviation))

    return CellColumn(Column(title, metric.unit, numeric=True), entry)
