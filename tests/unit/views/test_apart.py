"""Trials that stand apart, in tables, sentences, caveats and JSON."""

import io
import json
from pathlib import Path

from rich.console import Console

from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import held
from vtax import views
from vtax.model import numbers
from vtax.model.estimate import Estimate
from vtax.model.sample import Sample
from vtax.results import Result
from vtax.statistics import Centre, Resolution
from vtax.views.traces import MBPS_RECEIVED, Point, _hover

COLLAPSED = [655.1, 655.5, 657.0, 640, 652, 655, 653, 657, 656, 330]
OTHERS = [336, 335, 338, 341, 342, 334, 339, 333, 337, 336]


def text_of(result: Result) -> str:
    buffer = io.StringIO()
    views.show(result, Console(file=buffer, width=200))
    return " ".join(buffer.getvalue().split())


def test_of_many_the_median_stands_for_all(tmp_path: Path) -> None:
    result = make(tmp_path / "r", [*held(COLLAPSED), *held(OTHERS, platform="container")])
    text = text_of(result)
    assert "655.0 [639.3," in text
    assert "10 (2 apart)" in text
    assert "raw carries 655.0 Mbit/s" in text
    assert "(median, 95% interval 639.3 to 657.7, n = 10, 2 of which apart)" in text
    assert (
        "Trials stand apart from the others in 1 cell: By throughput; one cell in forty seems to have" in text
    )
    assert (
        "At most 2 of 10 do: 20% [2%, 60%], for all 2 cells together (raw, 64-byte frames, 1 stream" in text
    )
    assert "Up to 31% of a cell's trials may all the same, if none of 10 does." in text
    raw, container = (row["received_mbps"] for row in views.as_json(result)["throughput"])
    assert (raw["centre"], raw["apart"], raw["points"]) == ("median", 2, [])
    assert (container["centre"], container["apart"]) == ("mean", 0)


def test_of_few_all_are_printed(tmp_path: Path) -> None:
    result = make(tmp_path / "r", [*held([540.1, 655.5, 657.0]), *held(OTHERS[:3], platform="container")])
    text = text_of(result)
    assert "617.5 of 540.1, 655.5, 657.0" in text
    assert "raw carries 617.5 Mbit/s" in text
    assert "(of 540.1, 655.5, 657.0)" in text
    document = json.loads(json.dumps(views.as_json(result)))
    received = document["throughput"][0]["received_mbps"]
    assert (received["centre"], received["apart"], received["points"]) == ("mean", 1, [540.1, 655.5, 657.0])
    assert received["low"] < 540 and received["high"] > 657


def test_where_none_does_the_share_that_may_is_told(tmp_path: Path) -> None:
    several = make(tmp_path / "several", held(OTHERS))
    assert "No trial stands apart from the others of its cell: Up to 31% of a cell's trials may" in text_of(
        several
    )
    assert "stands apart" not in text_of(make(tmp_path / "two", held(OTHERS[:2])))


def test_points_and_medians_stand_in_figures_as_in_tables() -> None:
    few = Estimate(780.7, 262.9, 1298.4, 3, 0.0, apart=1, points=(540.2, 900.0, 902.1))
    assert numbers.bounds(few) == (540.2, 902.1)
    assert numbers.plus_minus(few, numbers.mbps) == "of 540.2, 900.0, 902.1"
    two_modes = Estimate(100.0, 99.99, 261.1, 11, 0.0, centre=Centre.MEDIAN, apart=4)
    assert numbers.bounds(two_modes) == (99.99, 261.1)
    point = Point(0.0, two_modes, "at 100 Mbit/s")
    assert "median, 95% interval 100.0 to 261.1" in _hover("raw", point, MBPS_RECEIVED)


def test_the_step_of_a_difference_is_what_most_values_have() -> None:
    """A bucket of a delay of 30 ms is wider than all other delays."""
    values = {"raw": [5000.0] * 10, "container": [10000.0 + block for block in range(9)] + [30e6]}
    own, other = (
        Sample(values=dict(enumerate(each)), recorded=10, invalid=0, resolution=Resolution(share=0.008))
        for each in (values["container"], values["raw"])
    )
    found = own.difference(other)
    assert found is not None and found.low is not None
    assert 4800 < found.low < found.value < 5100
