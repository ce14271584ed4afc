"""What bounded a maximum stands beside it, with what shows it: busy CPUs, and a source that waited for room."""

from pathlib import Path
from typing import Any

from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import Made
from vtax.model.catalogue import Chapter
from vtax.model.table import Entry, Number
from vtax.views.capacity_tables import limit_table
from vtax.views.contents import report_tables
from vtax.views.summary import summarise


def rows_of(directory: Path, **made: Any) -> list[tuple[Entry, ...]]:
    """The table's rows of a flood in two repetitions, while the CPUs were busy for 99%, 2 of them the sink's."""
    trials = [
        Made(
            block=block,
            **{
                "intended_mbps": None,
                "host_percent": 99.0,
                "sink_percent": 2.0,
                "waited_share": 0.25,
                **made,
            },
        )
        for block in range(2)
    ]
    table = limit_table(summarise(make(directory / "r", trials)))
    return [row for section in table.sections for row in section.rows]


def texts(row: tuple[Entry, ...]) -> list[str]:
    return [cell.text if isinstance(cell, Number) else cell for cell in row]


def test_a_platform_that_is_the_limit_shows_it(tmp_path: Path) -> None:
    (row,) = rows_of(tmp_path, marks=("backpressured",))
    assert texts(row) == ["raw", "97.0", "25.00", "≤102.0", "2", "0%", "the platform"]


def test_a_ceiling_of_the_instrument_is_named(tmp_path: Path) -> None:
    (row,) = rows_of(tmp_path, waited_share=0.0, marks=("generator-limited",))
    assert texts(row)[-1] == "the generator's ceiling"
    assert texts(row)[2].startswith("0")


def test_nothing_where_no_trial_tells_whether_its_source_waited(tmp_path: Path) -> None:
    assert rows_of(tmp_path, waited_share=None) == []


def test_a_report_has_it(tmp_path: Path) -> None:
    summary = summarise(make(tmp_path / "r", [Made(intended_mbps=None, waited_share=0.25)]))
    assert "limits" in [table.name for table in report_tables(summary, Chapter.NUMBERS)]
