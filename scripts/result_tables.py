"""The tables of a result as Markdown, for docs/results.md: `python -m scripts.result_tables`."""

import sys
from collections.abc import Iterator

from vtax.columns import Column
from vtax.registry.keys import KINDS
from vtax.results.schema import TABLES, TRIALS, Table


def describe(table: Table) -> Iterator[str]:
    """Yield the Markdown lines of one table: what a row is, then each column's type, unit and meaning."""
    yield f"### `{table.name}`: {table.row}"
    yield ""
    yield "| column | type | unit | meaning |"
    yield "|---|---|---|---|"
    yield from (f"| {_cells(column)} |" for column in table.columns)
    yield ""
    if table is TRIALS:
        yield from _describe_kinds()


def _describe_kinds() -> Iterator[str]:
    """Yield the lines of a table of what each kind of workload records of its trials."""
    yield "Behind `platform` come the columns of the campaign's kind of workload:"
    yield ""
    yield "| kind | column | type | unit | meaning |"
    yield "|---|---|---|---|---|"
    for kind, keys in KINDS.items():
        yield from (f"| {kind} | {_cells(column)} |" for column in keys.columns())
    yield ""


def _cells(column: Column) -> str:
    return f"`{column.name}` | {column.type} | {column.unit} | {column.meaning}"


def describe_all() -> str:
    """Return the Markdown of all tables."""
    return "\n".join(line for table in TABLES.values() for line in describe(table))


if __name__ == "__main__":
    sys.stdout.write(describe_all() + "\n")
