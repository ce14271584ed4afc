"""Interference as the views show it: the right pairs, in the right words."""

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import Made, blocks
from vtax.model.cell import Cell
from vtax.model.levels import Setting
from vtax.model.metrics import RESPONSE_TIME
from vtax.model.table import Table, text_of
from vtax.results import Result
from vtax.views import as_json, write_report
from vtax.views.figures import draw_figures
from vtax.views.interference import interference
from vtax.views.interference_tables import interference_table, matrix_table, neighbours_table
from vtax.views.summary import summarise
from vtax.workloads.requests.catalogue import CATALOGUE, RequestLevels

PAPER = {"source": {"paper": "schlosser2011", "section": "5"}}
LOST = ("backpressured",)
"""So that a maximum is the platform's own."""


def at(behaviour: str, *received_mbps: float, **fixed: Any) -> list[Made]:
    further = (("neighbours", behaviour), *fixed.pop("levels", ()))
    return blocks(
        received_mbps, intended_mbps=None, offered_mbps=1000.0, marks=LOST, further=further, **fixed
    )


def result(directory: Path, *trials: list[Made], **scenario: Any) -> Result:
    return make(directory, [made for cell in trials for made in cell], scenario=scenario)


def rows(table: Table) -> list[list[str]]:
    return [[text_of(cell) for cell in row] for section in table.sections for row in section.rows]


def test_each_behaviour_stands_against_rest_and_against_nobody(tmp_path: Path) -> None:
    summary = summarise(
        result(tmp_path / "r", at("none", 400, 440), at("idle", 400, 420), at("heavy", 200, 210))
    )
    found = {(row.aggressor, row.reference): row.ratio for row in summary.neighbourhood.interference}
    assert set(found) == {("idle", "none"), ("heavy", "idle"), ("heavy", "none")}
    ratio = found["heavy", "idle"]
    assert (ratio.value, ratio.n) == (pytest.approx(0.5), 2)
    assert not ratio.includes(1.0)
    assert found["idle", "none"].includes(1.0)
    told = {(row[1], row[2]): row[4] for row in rows(interference_table(summary))}
    assert told["heavy", "idle"] == "less"
    assert told["idle", "none"] == "no significant difference"


def test_pairs_are_alike_in_all_but_the_behaviour(tmp_path: Path) -> None:
    """Of the same platform, frames and share; a share is told in the aggressor's name."""
    half, most = (("load_share", "0.5"),), (("load_share", "0.95"),)
    summary = summarise(
        result(
            tmp_path / "r",
            *(at("idle", 400, 400, levels=share) for share in (half, most)),
            at("forward", 200, 200, levels=half),
            at("forward", 100, 100, levels=most),
            at("forward", 300, 300, levels=most, platform="container"),
            at("forward", 300, 300, levels=most, frame_bytes=1500),
        )
    )
    found = [(row.aggressor, round(row.ratio.value, 6)) for row in summary.neighbourhood.interference]
    assert sorted(found) == [("forward at 50%", 0.5), ("forward at 95%", 0.25)]
    (line,) = rows(matrix_table(summary))
    assert line[2:] == ["0.500", "0.250"]


def test_the_matrix_is_a_heat_map_as_well(tmp_path: Path) -> None:
    measured = result(
        tmp_path / "r",
        at("idle", 400, 420),
        at("light", 396, 415),
        at("heavy", 200, 210),
        figures=["interference"],
    )
    summary = summarise(measured)
    heat = next(figure for figure in draw_figures(summary) if figure.name == "interference")
    (panel,) = heat.panels
    (trace,) = panel.plot.data
    assert list(trace.x) == ["light", "heavy"]
    assert trace.z[0][1] == pytest.approx(0.5, rel=0.01)
    assert list(trace.text[0]) == ["(0.989)", "0.500"]
    assert 'id="table-interference-matrix"' in write_report(summary).read_text()
    assert [row["aggressor"] for row in as_json(summary)["interference"]]


def test_published_tables_stand_beside(tmp_path: Path) -> None:
    trials = (at("none", 400, 400), at("heavy", 200, 200))
    stressed = {"factors": {"platform": ["raw"], "neighbours": ["none", "heavy"]}}
    summary = summarise(result(tmp_path / "a", *trials, **PAPER, **stressed))
    published = rows(interference_table(summary))
    assert as_json(summary)["published_stress"]
    assert ["OpenVZ", "heavy", "none", "0.818"] in [row[:4] for row in published]
    forwarded = {"factors": {"platform": ["raw"], "neighbours": ["none", "forward"]}}
    summary = summarise(result(tmp_path / "b", *trials, **PAPER, **forwarded))
    table = neighbours_table(summary)
    assert as_json(summary)["published_traffic"]
    assert ["Xen", "72.0", "47.2"] in [[row[0], row[3], row[4]] for row in rows(table)]


def test_requests_beside_bulk_guests_stand_against_none_of_them() -> None:
    def made(guests: int, *times_ns: float) -> Cell:
        further = (("neighbour_guests", str(guests)), ("cap_mbps", "none"))
        return Cell(
            key="",
            platform="container",
            setting=Setting(RequestLevels("tcp", "inter-host", None, None, 1), further),
            level=64,
            uut_context="unknown",
            recorded=2,
            invalid=0,
            suspect=0,
            marks={},
            blocks=range(len(times_ns)),
            columns={RESPONSE_TIME.column: times_ns},
            reading=CATALOGUE.reading,
        )

    scenario = {"testbed": {"neighbours": "bulk"}}
    cells = [made(0, 100, 110), made(1, 200, 220), made(3, 400, 440)]
    found = interference(scenario, [], cells, RESPONSE_TIME)
    assert [(row.aggressor, row.reference, round(row.ratio.value, 3)) for row in found] == [
        ("bulk", "none", 2.0),
        ("3 x bulk", "none", 4.0),
    ]
