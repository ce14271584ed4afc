"""Lists for people and programs: scenarios, platforms, the doctor's checks, the rows of a query."""

import csv
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING, TextIO

from pydantic import JsonValue
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from vtax.output import TerminalConsole
from vtax.spreadsheets import harmless
from vtax.text_table import TextTable

if TYPE_CHECKING:
    import pyarrow as pa

    from vtax.doctor import Check
    from vtax.platforms import Preset
    from vtax.scenario import ScenarioSummary

UNBOUNDED_COLUMNS = 10_000
"""The width of tables that no terminal bounds: a file or a pipe gets every cell whole."""


class RowFormat(StrEnum):
    """How the rows of a query are written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def print_scenarios(scenarios: Iterable["ScenarioSummary"], stream: TextIO) -> None:
    """A row a scenario."""
    rows = [
        [scenario.name, str(scenario.cells), str(scenario.trials or "adaptive"), scenario.question]
        for scenario in scenarios
    ]
    _print_table(["scenario", ">cells", ">trials", "question"], rows, stream)


def print_platforms(presets: Iterable["Preset"], stream: TextIO) -> None:
    """A row a preset."""
    rows = [[preset.name, preset.kind, preset.title] for preset in presets]
    _print_table(["platform", "kind", "description"], rows, stream)


def print_checks(checks: Sequence["Check"], stream: TextIO) -> None:
    """One table in sections, a row a check; versions below what they are of, and a fix on a line of its own.

    A fix is never broken, so that it can be pasted; a terminal wraps it by itself.
    """
    console = _console(stream)
    width = max((cell_len(check.subject) for check in checks), default=0)
    for group, members in groupby(checks, key=lambda check: check.group):
        section = list(members)
        accelerated = max((cell_len(check.accelerator or "") for check in section), default=0)
        heads = "usable  accelerator" if accelerated else "usable"
        console.print(Text(f"{group:<{width + 2}}  {heads}", "bold"))
        for check in section:
            row = Table.grid(padding=(0, 2, 0, 0))
            row.add_column(min_width=width + 2, no_wrap=True)
            row.add_column(min_width=len("usable"))
            cells = [Text("yes", "green") if check.usable else Text("no", "bold red")]
            if accelerated:
                row.add_column(min_width=len("accelerator"))
                cells.append(Text(check.accelerator or ""))
            row.add_column(overflow="fold")
            detail = Text(check.detail)
            if check.versions:
                detail.append(f"\n{_versions(check.versions)}", "dim")
            row.add_row(Text(f"  {check.subject}"), *cells, detail)
            console.print(row)
            if check.fix:
                console.print(Text(f"      {check.fix}", "cyan"), soft_wrap=True)


def _versions(versions: Mapping[str, str]) -> str:
    """Each with what it is of, unless it says so itself."""
    named = ((name.replace("_", " "), told) for name, told in versions.items())
    return ", ".join(told if name.lower() in told.lower() else f"{name} {told}" for name, told in named)


def write_rows(table: "pa.Table", row_format: RowFormat, stream: TextIO) -> None:
    """The rows of an Arrow table; nested values are JSON text in tables and CSV, null is empty there.

    No text in CSV is a formula.
    """
    names = table.column_names
    columns = [[_plain(value) for value in column.to_pylist()] for column in table.columns]
    rows = [list(row) for row in zip(*columns, strict=True)]
    match row_format:
        case RowFormat.JSON:
            print_json([dict(zip(_distinct(names), row, strict=True)) for row in rows], stream)
        case RowFormat.CSV:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerows([map(harmless, names), *(map(_cell, row) for row in rows)])
        case RowFormat.TABLE:
            numeric = [all(_is_number(value) for value in column) for column in columns]
            heads = [f">{name}" if right else name for name, right in zip(names, numeric, strict=True)]
            _print_table(heads, [[_text(value) for value in row] for row in rows], stream)


def print_json(document: JsonValue, stream: TextIO) -> None:
    """One JSON document, in ASCII; a number that JSON does not have is an error here, not in its reader."""
    text = json.dumps(document, indent=2, allow_nan=False)
    print(text.replace("\x7f", r"\u007f"), file=stream)  # the one control character that is left


def _console(stream: TextIO) -> Console:
    console = TerminalConsole(stream)
    return console if console.is_terminal else TerminalConsole(stream, width=UNBOUNDED_COLUMNS)


def _print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], stream: TextIO) -> None:
    """A table without frames; a head that begins with `>` aligns its column to the right."""
    console = _console(stream)
    numeric = [head.startswith(">") for head in heads]
    lines = [[head.removeprefix(">") for head in heads], *rows]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    names, *aligned = (
        [
            cell.rjust(width) if is_number else cell
            for cell, width, is_number in zip(line, widths, numeric, strict=True)
        ]
        for line in lines
    )
    TextTable(names, numeric, [("", aligned)]).print(console, console.width)


def _plain(value: object) -> JsonValue:
    """A value of DuckDB as JSON has it: times in ISO 8601, durations in seconds, no NaN."""
    plain: JsonValue = None
    match value:
        case float() if not math.isfinite(value):
            pass
        case None | bool() | int() | float() | str():
            plain = value
        case Decimal():
            plain = int(value) if value == value.to_integral_value() else float(value)
        case datetime() | date() | time():
            plain = value.isoformat()
        case timedelta():
            plain = value.total_seconds()
        case bytes():
            plain = value.hex()
        case dict():
            plain = {str(key): _plain(inner) for key, inner in value.items()}
        case list() | tuple():
            plain = [_plain(inner) for inner in value]
        case _:
            raise TypeError(f"{type(value).__name__} is no value of DuckDB")
    return plain


def _distinct(names: Iterable[str]) -> list[str]:
    """Column names as keys of an object: a name that is there already gets its position, `a` then `a_2`."""
    distinct: list[str] = []
    for position, name in enumerate(names, start=1):
        distinct.append(f"{name}_{position}" if name in distinct else name)
    return distinct


def _text(value: JsonValue) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case _:
            return json.dumps(value, ensure_ascii=False)


def _cell(value: JsonValue) -> str:
    """A value in CSV, where only what is text in the result may be a formula."""
    return harmless(value) if isinstance(value, str) else _text(value)


def _is_number(value: JsonValue) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
