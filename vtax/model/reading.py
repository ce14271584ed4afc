"""Reading cells of a result: one query for their trials, one for what these measured, whatever the workload."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec import Struct

from vtax.model.cell import UNKNOWN_CONTEXT, Cell, Column, Part, Parts, Reading
from vtax.model.level_labels import level_labels
from vtax.model.levels import Dimension, Level, Levels, Setting
from vtax.model.metric import VICTIM, Metric, Relation
from vtax.model.recorded import Recorded
from vtax.model.series import series
from vtax.results import Result, Value, number, text, whole
from vtax.results.schema import factor_columns

# The trials that enter means. Every query averages a cell's trials of one block (repeated attempts), so that
# a block weighs the same in each mean and each pair.
USABLE = f"""
usable AS (
    SELECT trial_id, cell, platform, coalesce(uut_context, '{UNKNOWN_CONTEXT}') AS uut_context, block, marks
    FROM untraced WHERE verdict <> 'invalid'
)
"""  # noqa: S608, made of constants

_MARKS = f"""
WITH {USABLE}
SELECT cell, uut_context, mark, count(*) AS trials
FROM (SELECT cell, uut_context, unnest(marks) AS mark FROM usable) GROUP BY ALL ORDER BY mark
"""  # noqa: S608, made of constants


@dataclass(frozen=True, eq=False)
class RecordedCell(Recorded):
    """A recorded cell with the columns of `trials` that were asked for besides its levels."""

    also: Mapping[str, Value]


class _Mark(Struct, frozen=True):
    """So many usable trials of a cell that have a mark."""

    cell: str
    uut_context: str
    mark: str
    trials: int


def read_cells(
    result: Result, reading: Reading, metrics: Sequence[Metric], platforms: Sequence[str] = ()
) -> list[Cell]:
    """Return every cell that has a recorded trial, usable or not, in the order platform, setting, level, context.

    A cell whose trials ran in more than one `uut_context` comes once for each context, because no mean and no ratio is
    formed across the two.
    """
    adaptive = result.is_adaptive
    testbed = result.scenario.get("testbed") or {}
    measured = _measured(result, reading, metrics)
    marks = _marks(result)
    parts = _parts(result, reading.parts) if reading.parts else {}
    cells = []
    also = (reading.dimension.column,) if reading.dimension else ()
    for row in recorded_cells(result, reading.levels, also=also):
        for context, columns in measured.get(row.key, {UNKNOWN_CONTEXT: {}}).items():
            cells.append(
                Cell(
                    key=row.key,
                    platform=row.platform,
                    setting=row.setting,
                    level=level_of(row, reading.dimension) if reading.dimension else None,
                    uut_context=context,
                    recorded=row.recorded,
                    invalid=row.invalid,
                    suspect=row.suspect,
                    marks=marks.get((row.key, context), {}),
                    blocks=array("q", (int(block or 0) for block in columns.get("blocks", ()))),
                    columns=columns,
                    reading=reading,
                    parts=parts.get((row.key, context), {}),
                    testbed=testbed,
                    adaptive=adaptive,
                )
            )
    rank = {name: position for position, name in enumerate(platforms)}
    return sorted(
        cells,
        key=lambda cell: (
            rank.get(cell.platform, len(rank)),
            cell.setting,
            reading.dimension.order(cell.level) if reading.dimension else 0.0,
            cell.uut_context,
        ),
    )


def recorded_cells(
    result: Result,
    levels: type[Levels],
    of: Literal["untraced", "traced"] = "untraced",
    also: Sequence[str] = (),
) -> list[RecordedCell]:
    """Return every cell that has a recorded trial, in the order of their first, with the columns `levels` names.

    All trials of a cell have these in common, and those that `also` names. What the kind of workload does not record is
    null. Cells whose packets were followed are apart from all others.
    """
    further, names = further_factors(result), levels.__struct_fields__
    there = result.tables["trials"].schema.names
    columns = [name for name in dict.fromkeys(("platform", *names, *also, *further)) if name in there]
    rows = result.rows(
        f"SELECT cell, {any_values(columns)}, count(*) AS recorded,"  # noqa: S608, all quoted
        " count(*) FILTER (verdict = 'invalid') AS invalid, count(*) FILTER (verdict = 'suspect') AS suspect"
        f" FROM {of} GROUP BY cell ORDER BY min(trial_id)"
    )
    labels = {name: level_labels(str(row[name]) for row in rows) for name in further}
    return [
        RecordedCell(
            key=text(row["cell"]),
            platform=text(row["platform"]),
            setting=Setting(
                levels(*(row.get(name) for name in names)),
                tuple((name, str(row[name])) for name in further),
                tuple((name, labels[name][str(row[name])]) for name in further),
            ),
            recorded=whole(row["recorded"]),
            invalid=whole(row["invalid"]),
            suspect=whole(row["suspect"]),
            also={name: row.get(name) for name in also},
        )
        for row in rows
    ]


def further_factors(result: Result) -> tuple[str, ...]:
    """Return the campaign's factors beyond those that its kind records: `trials` has a text column for each."""
    return tuple(column.name for column in factor_columns(result.campaign))


def any_levels(further: Iterable[str]) -> str:
    """Return these factors' levels of grouped trials, as a list, in SQL."""
    return f"[{', '.join(f'any_value({_quoted(name)})' for name in further)}]"


def any_values(names: Iterable[str]) -> str:
    """Return columns by which grouped trials do not differ, in SQL."""
    return ", ".join(f"any_value({_quoted(name)}) AS {_quoted(name)}" for name in names)


def level_of(cell: RecordedCell, dimension: Dimension) -> Level:
    """Return what a cell, read with the dimension's column, has of it."""
    value = cell.also[dimension.column]
    return None if value is None else number(value)


def _measured(
    result: Result, reading: Reading, metrics: Sequence[Metric]
) -> dict[str, dict[str, dict[str, Column]]]:
    """What the trials of each cell and context measured, a value a block, by column; their `blocks` among them."""
    rows = result.columns(_query(reading, metrics))
    names = [name for name in rows.schema.names if name not in ("cell", "uut_context")]
    found: dict[str, dict[str, dict[str, Column]]] = {}
    for cell, context, *lists in zip(
        *(rows[name].to_pylist() for name in ("cell", "uut_context")),
        *(series(rows[name]) for name in names),
        strict=True,
    ):
        found.setdefault(cell, {})[context] = dict(zip(names, lists, strict=True))
    return found


def trial_tables(metrics: Iterable[Metric]) -> dict[Relation, str]:
    """Return a table in SQL, `name AS (SELECT ...)`, for each relation: a row a trial, with a column a metric's."""
    columns: dict[Relation, list[str]] = {VICTIM: []}
    for metric in metrics:
        own = columns.setdefault(metric.relation, [])
        own.append(f"{metric.sql} AS {metric.column}")
        if metric.step_sql:
            own.append(f"{metric.step_sql} AS {metric.step_column}")
        if metric.late_sql:
            own.append(f"{metric.late_sql} AS {metric.late_column}")
    return {
        relation: f"{relation.name} AS (SELECT {', '.join(['trial_id', *named])} FROM {relation.rows} GROUP BY trial_id)"  # noqa: S608, E501, made of constants
        for relation, named in columns.items()
    }


def joins(tables: Iterable[Relation]) -> str:
    """Return what joins these tables to usable trials, in SQL."""
    return " ".join(
        f"{'JOIN' if relation.is_required else 'LEFT JOIN'} {relation.name} USING (trial_id)"
        for relation in tables
    )


def _query(reading: Reading, metrics: Sequence[Metric]) -> str:
    """Return the SELECT of a row a cell and context, with a list of a value a block for each column."""
    tables = trial_tables(
        dict.fromkeys([*metrics, *(each for aside in reading.asides for each in aside.needs)])
    )
    columns = [
        *((metric.column, f"avg({metric.column})") for metric in metrics),
        *((metric.step_column, f"avg({metric.step_column})") for metric in metrics if metric.step_column),
        # A block of which another trial has the quantile lacks nothing.
        *(
            (late, f"(count({metric.column}) = 0 AND bool_or({late}))::DOUBLE")
            for metric in metrics
            if (late := metric.late_column)
        ),
        *((aside.column, aside.sql) for aside in reading.asides),
    ]
    means = "".join(f", {sql} AS {name}" for name, sql in columns)
    lists = "".join(f", list({name} ORDER BY block) AS {name}" for name, _ in columns)
    return f"""
WITH {USABLE}, {", ".join(tables.values())}, blocks AS (
    SELECT cell, uut_context, block{means} FROM usable {joins(tables)} GROUP BY ALL
)
SELECT cell, uut_context, list(block ORDER BY block) AS blocks{lists} FROM blocks GROUP BY ALL
"""  # noqa: S608, made of constants


def _parts(result: Result, parts: Parts) -> dict[tuple[str, str], dict[int, Part]]:
    """Return the metric of each part by block, for each cell and context, the parts in their order."""
    metric, relation = parts.metric, parts.metric.relation
    rows = result.columns(f"""
WITH {USABLE}, part AS (
    SELECT trial_id, {parts.column} AS part, {metric.sql} AS value FROM {relation.rows} GROUP BY ALL
), blocks AS (
    SELECT cell, uut_context, part, block, avg(value) AS value
    FROM usable JOIN part USING (trial_id) GROUP BY ALL
)
SELECT cell, uut_context, part, list(block ORDER BY block) AS blocks, list(value ORDER BY block) AS value
FROM blocks WHERE value IS NOT NULL GROUP BY ALL ORDER BY part
""")  # noqa: S608, made of constants
    found: dict[tuple[str, str], dict[int, Part]] = {}
    for cell, context, part, blocks, values in zip(
        *(rows[name].to_pylist() for name in ("cell", "uut_context", "part")),
        *(series(rows[name]) for name in ("blocks", "value")),
        strict=True,
    ):
        found.setdefault((cell, context), {})[part] = Part(blocks, values)
    return found


def _marks(result: Result) -> dict[tuple[str, str], dict[str, int]]:
    """How many usable trials of each cell and context have each mark."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for row in result.read(_MARKS, _Mark):
        found.setdefault((row.cell, row.uut_context), {})[row.mark] = row.trials
    return found


def _quoted(name: str) -> str:
    """A column's name in SQL, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'
