"""Rounds of relays as the views show them: over all runs, beside the paper's table, as a mesh, and as a ladder."""

from pathlib import Path

import numpy as np
import pytest

from tests.helpers.results.builder import make
from tests.helpers.results.relay import MadeRun
from vtax.model.table import text_of
from vtax.views import as_json, write_report
from vtax.views.figures import draw_figures
from vtax.views.round_figures import maxima
from vtax.views.rounds_table import artifacts_table, ladder_table, rounds_table, run_time_table
from vtax.views.summary import summarise

PAPER = {"source": {"paper": "matthews2009", "section": "2"}}


def test_all_runs_of_a_cell_are_taken_together(tmp_path: Path) -> None:
    first, second = [10.0, 20.0, 30.0, None], [40.0, 50.0, 60.0, 70.0]
    left_out = MadeRun(0, [1e6] * 4, block=2, verdict="invalid")
    result = make(tmp_path, [MadeRun(0, first), MadeRun(0, second, block=1), left_out])
    (row,) = summarise(result).runs.rounds
    assert (row.runs, row.rounds, row.failed_ratio, row.left_out) == (2, 8, 0.125, pytest.approx(1 / 3))
    done = np.array([10, 20, 30, 40, 50, 60, 70]) * 1000
    assert row.deviation_ns == pytest.approx(done.std(ddof=1))
    assert (row.min_ns, row.max_ns, row.p50_ns) == (10_000, 70_000, None)
    # The mean's interval is over the blocks' own means, 20 and 55 µs.
    assert row.mean_ns is not None
    assert (row.mean_ns.value, row.mean_ns.n) == (pytest.approx(37_500), 2)
    # 60 µs and 220 µs of a millisecond each were timed.
    assert row.timed_ratio is not None
    assert row.timed_ratio.value == pytest.approx(0.14)


def test_the_runs_of_a_block_are_one_value(tmp_path: Path) -> None:
    """They share a guest and a stretch of time: however many there are, one block has no interval."""
    runs = [MadeRun(run, [10.0 + run, 20.0 + run]) for run in range(50)]
    (row,) = summarise(make(tmp_path / "one", runs)).runs.rounds
    assert row.mean_ns is not None
    assert (row.runs, row.mean_ns.n, row.mean_ns.low) == (50, 1, None)
    runs += [MadeRun(run, [12.0 + run, 22.0 + run], block=1) for run in range(10)]
    (row,) = summarise(make(tmp_path / "two", runs)).runs.rounds
    assert row.mean_ns is not None and row.wall_s is not None and row.timed_ratio is not None
    assert (row.mean_ns.value, row.mean_ns.n) == (pytest.approx((39_500 + 21_500) / 2), 2)
    assert (row.wall_s.n, row.timed_ratio.n) == (2, 2)


def test_each_run_is_a_trial_that_was_planned(tmp_path: Path) -> None:
    made = [MadeRun(0, [10.0] * 4), MadeRun(1, [10.0] * 4), MadeRun(2, [10.0] * 4, verdict="invalid")]
    origin = summarise(make(tmp_path, made, scenario={"workload": {"kind": "relay", "runs": 3}})).provenance
    assert (origin.planned_trials, origin.recorded_trials, origin.measured_trials) == (3, 3, 2)


def test_a_failed_round_is_later_than_every_other(tmp_path: Path) -> None:
    times = [float(us) for us in range(1, 101)]
    (row,) = summarise(make(tmp_path / "a", [MadeRun(0, times)])).runs.rounds
    assert (row.p50_ns, row.p90_ns, row.p99_ns) == (50_000, 90_000, None)
    (row,) = summarise(make(tmp_path / "b", [MadeRun(0, [*times[:80], *[None] * 20])])).runs.rounds
    assert (row.p50_ns, row.p90_ns) == (50_000, None)


def test_scatter_is_compared_with_the_bare_host_s(tmp_path: Path) -> None:
    noise = np.random.default_rng(7).normal(0, 1, (2, 8, 100))
    runs = [MadeRun(0, (50 + noise[0, block]).tolist(), block=block) for block in range(8)]
    runs += [
        MadeRun(0, (80 + 6 * noise[1, block]).tolist(), platform="container", block=block)
        for block in range(8)
    ]
    native, tenfold = summarise(make(tmp_path, runs)).runs.rounds
    assert (native.reference, native.dispersion) == (None, None)
    assert tenfold.reference == "raw"
    assert tenfold.dispersion is not None
    assert tenfold.dispersion.low is not None and tenfold.dispersion.high is not None
    assert tenfold.dispersion.low < 6 < tenfold.dispersion.high
    assert tenfold.dispersion_p is not None
    assert tenfold.dispersion_p < 0.001


def test_scatter_within_one_block_is_compared_with_nothing(tmp_path: Path) -> None:
    noise = np.random.default_rng(7).normal(0, 1, (2, 8, 100))
    runs = [
        MadeRun(run, (50 + (1 + 5 * at) * noise[at, run]).tolist(), platform=platform)
        for at, platform in enumerate(("raw", "container"))
        for run in range(8)
    ]
    assert [row.dispersion for row in summarise(make(tmp_path, runs)).runs.rounds] == [None, None]


def test_the_paper_s_table_stands_beside_one_hop(tmp_path: Path) -> None:
    summary = summarise(make(tmp_path / "one", [MadeRun(0, [50.0] * 100)], scenario=PAPER))
    cells = [tuple(map(text_of, row)) for section in rounds_table(summary).sections for row in section.rows]
    assert cells[0][:2] == ("raw", "50.0")
    assert cells[1] == ("Linux", "54.40", "5.05", "52", "", "", "", "", "421", "", "", "")
    assert cells[3][0] == "VM2"
    assert "no ratio is formed" in rounds_table(summary).note
    more = summarise(make(tmp_path / "more", [MadeRun(0, [50.0] * 100, hops=2)], scenario=PAPER))
    assert more.runs.published_rounds == []


def test_the_ladder_goes_upwards_from_nothing(tmp_path: Path) -> None:
    times = {"network": 50.0, "nothing": 0.03, "lines": 2.0, "output": 0.2}
    runs = [MadeRun(0, [us] * 10_000, load=load) for load, us in times.items()]
    result = make(tmp_path, runs)
    summary = summarise(result)
    (section,) = ladder_table(summary).sections
    assert section.title == "raw"
    assert [text_of(row[0]).split(",")[0] for row in section.rows] == [
        "nothing timed",
        "4-byte lines written",
        "4-byte lines written",
        "1 hop",
    ]
    figures = {figure.name: figure for figure in draw_figures(summary)}
    assert len(figures["null-ladder"].panels) == 1
    assert ladder_table(summarise(make(tmp_path / "bare", [MadeRun(0, [1.0] * 9)]))).size == 0


def test_no_slow_round_is_lost_in_a_mesh() -> None:
    ns = np.full((50, 10_000), 50_000.0)
    ns[7, 4_321], ns[49, 9_999], ns[3, 0] = 200_000, 300_000, np.nan
    binned, tall, wide = maxima(ns, 50, 200)
    assert (binned.shape, tall, wide) == ((50, 200), 1, 50)
    assert (binned[7, 4_321 // 50], binned[49, 199]) == (200_000, 300_000)
    assert np.isfinite(binned).all()
    binned, tall, wide = maxima(np.full((3, 7), np.nan), 2, 2)
    assert (binned.shape, tall, wide) == ((2, 2), 2, 4)
    assert np.isnan(binned).all()


def test_views_of_rounds_hang_together(tmp_path: Path) -> None:
    noise = np.random.default_rng(3).exponential(5, (3, 2, 400)) + 50
    platforms = ("raw", "container", "qemu-virtio")
    runs = [
        MadeRun(run, noise[at, run].tolist(), hops, platform=platform, emulated=platform == "qemu-virtio")
        for at, platform in enumerate(platforms)
        for hops in (1, 2)
        for run in range(2)
    ]
    result = make(tmp_path, runs, scenario=PAPER)
    summary = summarise(result)
    assert [text_of(row[0]) for row in run_time_table(summary).sections[0].rows] == ["raw", "container"]
    figures = {figure.name: figure for figure in draw_figures(summary)}
    for name in ("rounds-mesh", "rounds-surface", "rounds-histogram"):
        assert [panel.title for panel in figures[name].panels] == list(platforms)
    document = as_json(result)
    assert len(document["rounds"]) == 6
    assert "runs" not in document
    assert document["rounds"][0]["setting"]["hops"] == 1
    page = write_report(result).read_text()
    assert 'id="table-rounds"' in page


def test_a_platform_whose_rounds_all_failed_is_no_error(tmp_path: Path) -> None:
    runs = [MadeRun(0, [50.0] * 20), MadeRun(0, [None] * 10, platform="container")]
    result = make(tmp_path, runs)
    failed = next(row for row in summarise(result).runs.rounds if row.platform == "container")
    assert (failed.failed_ratio, failed.mean_ns, failed.max_ns) == (1.0, None, None)
    assert write_report(result).exists()


def test_artifacts_are_told_of_with_what_they_were_compared_with(tmp_path: Path) -> None:
    """Every 100th round of a container is as slow again, and nothing of the bare host's."""
    noise = np.random.default_rng(5).gamma(4, 1, (2, 10, 2000)) + 50
    noise[1, :, ::100] += 60
    runs = [
        MadeRun(run, noise[at, run].tolist(), platform=platform)
        for at, platform in enumerate(("raw", "container"))
        for run in range(10)
    ]
    result = make(tmp_path, runs)
    found = [row for row in summarise(result).runs.artifacts if row.p_value is not None]
    assert {(row.platform, row.reference) for row in found} == {("container", "raw")}
    assert any("Every 100 iterations" in row.sentence for row in found)
    assert artifacts_table(summarise(result)).size >= len(found)
    assert as_json(result)["artifacts"]
