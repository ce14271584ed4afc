"""The tables as Markdown, for docs/results.md: `python -m vtax.results.describe`."""

import sys
from collections.abc import Iterator

from vtax.results.schema import TABLES, Table


def describe(table: Table) -> Iterator[str]:
    """Yield the Markdown lines of one table: what a row is, then each column's type, unit and meaning."""
    yield f"### `{table.name}`: {table.row}"
    yield ""
    yield "| column | type | unit | meaning |"
    yield "|---|---|---|---|"
    for column in table.columns:
        yield f"| `{column.name}` | {column.type} | {column.unit} | {column.meaning} |"
    yield ""


def describe_all() -> str:
    """Return the Markdown of all tables."""
    return "\n".join(line for table in TABLES.values() for line in describe(table))


if __name__ == "__main__":
    sys.stdout.write(describe_all() + "\n")
