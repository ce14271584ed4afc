"""What the sink takes of the platform's CPUs is the instrument's: CPU time is shown without it, maxima both ways."""

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import Made
from vtax.model.bound import Bound
from vtax.model.metrics import CPU
from vtax.views.capacity_tables import limit_table
from vtax.views.summary import Summary, summarise
from vtax.views.throughput import Maximum

ELSEWHERE = ({"host": "sink", "domain": "sink", "component": "calibrated elsewhere", "percent": 20.0},)


def flooded(directory: Path, **made: Any) -> Summary:
    """A flood of which a fifth is lost, in two repetitions, while the CPUs are busy for 90%."""
    trials = [
        Made(
            block=block,
            **{
                "received_mbps": 80.0,
                "intended_mbps": None,
                "host_percent": 90.0,
                "sink_percent": 20.0,
                **made,
            },
        )
        for block in range(2)
    ]
    return summarise(make(directory / "r", trials))


def only(summary: Summary) -> Maximum:
    (maximum,) = summary.loads.maxima
    return maximum


@pytest.mark.parametrize(
    ("made", "left_percent"),
    [
        ({}, 70.0),
        ({"sink_percent": None}, 90.0),
        ({"sink_percent": None, "cpu": ELSEWHERE}, 90.0),
        ({"host_percent": 0.4}, 0.0),
    ],
    ids=["on the UUT's CPUs", "no sink", "elsewhere", "a busy time below a tick"],
)
def test_cpu_time_is_shown_without_the_sinks(
    made: dict[str, Any], left_percent: float, tmp_path: Path
) -> None:
    (cell,) = flooded(tmp_path, **made).measured
    cpu = cell.estimate(CPU)
    assert cpu is not None
    assert cpu.value == pytest.approx(left_percent)


def test_both_stand_in_the_table_of_cpu_time(tmp_path: Path) -> None:
    found = {
        (use.domain, use.component): use.percent.value
        for use in flooded(tmp_path).loads.cpu
        if use.domain == "host"
    }
    assert found == {("host", "total"): 90.0, ("host", "without the sink"): 70.0}


def test_a_maximum_has_a_bound_without_the_sink(tmp_path: Path) -> None:
    """A fifth of the time was the sink's: with it a platform forwards a quarter more at most."""
    summary = flooded(tmp_path)
    without = only(summary).without_sink_mbps
    assert without is not None
    assert (without.value, without.bound) == (pytest.approx(100.0), Bound.AT_MOST)
    table = limit_table(
        flooded(tmp_path / "held", offered_mbps=80.0, marks=("backpressured",), waited_share=0.5)
    )
    (row,) = (row for section in table.sections for row in section.rows)
    assert "≤100.0" in " ".join(map(str, row))


@pytest.mark.parametrize(
    "made",
    [
        {"sink_percent": None, "cpu": ELSEWHERE},
        {"received_mbps": 100.0, "marks": ("generator-limited",)},
        {"sink_percent": 100.0},
    ],
    ids=["elsewhere", "the generator's ceiling", "nothing but the sink"],
)
def test_no_bound_where_the_sink_did_not_hold_the_platform_back(made: dict[str, Any], tmp_path: Path) -> None:
    assert only(flooded(tmp_path, **made)).without_sink_mbps is None
