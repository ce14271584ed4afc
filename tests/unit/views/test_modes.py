"""What views show of campaigns whose trials decided how many there are."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import Made, blocks, held
from vtax.results import Result, ResultWriter
from vtax.statistics import PER_MILLE, adaptive_interval
from vtax.views import as_json, show, write_report
from vtax.views.summary import summarise

RECEIVED = [100.0, 101.0, 99.0, 100.5, 99.5]
PRECISION = {"relative_width": 0.05, "of": "throughput", "least": 3, "budget_s": None}


def shown(result: Result) -> str:
    page = StringIO()
    show(result, Console(file=page, width=100))
    write_report(result)
    return " ".join(page.getvalue().split())


def test_intervals_of_an_adaptive_campaign_hold_at_every_moment(tmp_path: Path) -> None:
    trials = blocks(RECEIVED, offered_mbps=120.0, intended_mbps=120.0)
    result = make(tmp_path / "r", trials, scenario={"precision": PRECISION, "repetitions": 9})
    (row,) = summarise(result).loads.throughput
    expected = PER_MILLE.of_mean(adaptive_interval(RECEIVED))
    assert (row.received_mbps.low, row.received_mbps.high) == (expected.low, expected.high)
    (reached,) = as_json(result)["precision"]
    assert reached["width"] == pytest.approx((expected.high - expected.low) / expected.mean)  # type: ignore[operator]
    assert reached["reached"] is (reached["width"] <= 0.05)
    page = shown(result)
    assert "Repetitions chosen by precision" in page
    assert "trials planned" not in (tmp_path / "r/report.html").read_text()


def test_what_did_not_get_narrow_is_said(tmp_path: Path) -> None:
    narrow = {**PRECISION, "relative_width": 0.001}
    trials = blocks(RECEIVED, offered_mbps=120.0, intended_mbps=120.0)
    page = shown(make(tmp_path / "r", trials, scenario={"precision": narrow}))
    assert "1 of 1 intervals wider than requested" in page
    assert "wider" in page


def test_the_maximum_of_an_adaptive_campaign_spans_the_loads_sequences(tmp_path: Path) -> None:
    trials = [
        trial
        for platform, share in (("raw", 1.0), ("container", 0.5))
        for load in (50.0, None)
        for trial in held(
            [share * min(value, load or value) for value in RECEIVED], platform=platform, intended_mbps=load
        )
    ]
    settings = {"precision": {**PRECISION, "of": "maximum"}}
    summary = summarise(make(tmp_path / "r", trials, scenario=settings))
    raw, container = summary.loads.maxima
    assert (raw.intended_mbps, container.intended_mbps) == (None, None)
    at_half = PER_MILLE.of_mean(adaptive_interval(RECEIVED, 0.975))
    assert raw.received_mbps.low == pytest.approx(at_half.low)
    (change,) = summary.loads.changes
    assert change.change_percent is not None and change.change_percent.value == pytest.approx(-50)
    assert change.change_percent.low is not None and change.change_percent.low < -50
    assert [row.intended_mbps for row in summary.precision] == [None, None]


def searched(directory: Path, further: tuple[tuple[str, str], ...] = (), **bounds: Any) -> Result:
    """Two trials of a search at loads of its own, the second with what was found."""
    factors = {"platform": ["raw"], **{name: [level] for name, level in further}}
    campaign = {
        "name": "handmade",
        "scenario": {"name": "handmade", "factors": factors, "search": {"most": 9}},
        "platforms": {"raw": {"title": "raw", "kind": "x", "emulated": False, "skipped": None}},
        "status": "complete",
    }
    with ResultWriter.create(directory, campaign) as writer:
        for step, load in enumerate((1000.0, 480.0)):
            received = min(load, 480.0)
            made = Made(intended_mbps=load, offered_mbps=load, received_mbps=received, further=further)
            record = made.record(step)
            record.trial |= {"search": "platform=raw", "step": step, "warmup_s": 0.5, "duration_s": 1.0}
            if step:
                found = {
                    "search": "platform=raw",
                    "goal": "NDR",
                    "loss_ratio": 0.0,
                    "trials": 2,
                    "trial_s": 3.0,
                }
                record.searches = [{**found, **bounds}]
            writer.commit(record)
    return Result.open(directory)


def test_a_search_shows_both_bounds_and_no_maximum(tmp_path: Path) -> None:
    result = searched(tmp_path / "r", lower_mbps=479.0, upper_mbps=481.0, conditional_mbps=479.0)
    summary = summarise(result)
    assert summary.loads.maxima == []
    (found,) = summary.loads.searches
    assert (found.lower_mbps, found.upper_mbps, found.searches, found.trials) == (479.0, 481.0, 1, 2)
    assert as_json(summary)["searches"]
    page = shown(result)
    assert (
        "carries between 479.0 and 481.0 Mbit/s of 64-byte frames at no more than 0.00% loss (NDR, n = 1)"
        in page
    )
    assert "Loads within the loss goals" in (tmp_path / "r/report.html").read_text()


def test_a_searched_factor_may_have_any_name(tmp_path: Path) -> None:
    further = (('the "cap"', "100"),)
    (found,) = summarise(searched(tmp_path / "r", further, upper_mbps=1.0)).loads.searches
    assert found.setting.further == further


def test_a_bound_that_the_platform_did_not_set_is_a_lower_one(tmp_path: Path) -> None:
    result = searched(
        tmp_path / "r", lower_mbps=1000.0, conditional_mbps=1000.0, bounded_by="the largest load"
    )
    assert "carries at least 1,000.0 Mbit/s" in shown(result)
    assert "≥1,000.0" in shown(result)


def test_where_the_least_load_loses_too_much_there_is_no_bound(tmp_path: Path) -> None:
    result = searched(tmp_path / "r", upper_mbps=1.0)
    assert "carries no tested load of 64-byte frames" in shown(result)
