"""docs/results.md and the schemas that files are written with say the same."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from scripts.result_tables import describe_all
from tests.helpers.paths import ROOT
from vtax.columns import Column
from vtax.registry.keys import KINDS
from vtax.results.schema import TABLES, schemas

DOCS = ROOT / "docs" / "results.md"
BEGIN, END = "<!-- tables: what `python -m scripts.result_tables` prints -->\n", "<!-- end of tables -->\n"


def test_docs_hold_the_tables() -> None:
    inside = DOCS.read_text().split(BEGIN)[1].split(END)[0]
    assert inside.strip() == describe_all().strip(), "put what `python -m scripts.result_tables` prints there"


def test_docs_name_every_column_of_every_arrow_schema() -> None:
    sections = DOCS.read_text().split("### `")
    for name, schema in schemas({"columns": []}).items():
        (section,) = (text for text in sections if text.startswith(f"{name}`"))
        rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| `")]
        assert [(row[0].strip("| `"), row[1]) for row in rows] == [(f.name, str(f.type)) for f in schema]


COLUMNS = {name: table.columns for name, table in TABLES.items()} | {
    kind: keys.columns() for kind, keys in KINDS.items()
}


@pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)
def test_units_are_those_that_the_names_say(columns: Sequence[Column]) -> None:
    suffixes = {
        "_mbps": "Mbit/s",
        "_fps": "frames/s",
        "_ns": "ns",
        "_ms": "ms",
        "_per_s": "requests/s",
        "_s": "s",
        "_bytes": "byte",
        "_mhz": "MHz",
        "percent": "%",
        "_ratio": "ratio",
    }
    for column in columns:
        assert column.meaning
        for suffix, unit in suffixes.items():
            if column.name.endswith(suffix):
                assert column.unit == unit, column.name
                break


def test_files_explain_themselves() -> None:
    field = schemas({})["flows"].field("latency_p99_ns")
    assert field.metadata == {
        b"unit": b"ns",
        b"meaning": b"99% quantile of delay; null below 1,000 samples",
    }


@pytest.mark.parametrize(
    "campaign",
    [
        {"scenario": {"factors": {"platform": ["raw"], "streams": [1], "memory_bytes": [1, 2]}}},
        {"factors": ["streams", "memory_bytes"], "scenario": {"factors": {"platform.memory_bytes": [1, 2]}}},
    ],
)
def test_further_factors_become_text_columns_once(campaign: dict[str, Any]) -> None:
    added = [field for field in schemas(campaign)["trials"] if field not in schemas({})["trials"]]
    assert [(field.name, field.type) for field in added] == [("memory_bytes", pa.string())]
