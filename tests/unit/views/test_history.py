"""Many campaigns over time: changes of level that are there are found, and no others."""

import json
import math
import re
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.level_changes import by_chance, without_change
from tests.helpers.comparisons import again, busy
from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import blocks
from vtax.cli import main
from vtax.inputs import InputError
from vtax.statistics import change_points, proportion_interval
from vtax.statistics.changepoints import BY_CHANCE, CHANCES, chance_of, table_of
from vtax.views.history import History, read_history
from vtax.views.history.page import history_page

Captured = pytest.CaptureFixture[str]
HOSTILE = "</script><img src=x onerror=alert(1)>{{7*7}}"
CAMPAIGNS, CHANGED = 12, 7


def test_a_change_of_level_is_found_where_it_is() -> None:
    rng = np.random.default_rng(5)
    found = change_points([*rng.normal(100, 1, 9), *rng.normal(90, 1, 6)])
    assert found is not None and found.places == (9,) and found.p_value < 0.01


def test_two_changes_are_found() -> None:
    rng = np.random.default_rng(6)
    found = change_points([*rng.normal(100, 1, 8), *rng.normal(90, 1, 8), *rng.normal(100, 1, 8)])
    assert found is not None and found.places == (8, 16)


def test_one_outlier_is_no_new_level() -> None:
    values = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 50.0, 99.8, 100.1, 100.4]
    found = change_points(values)
    assert found is not None and not (found.places and found.p_value < 0.05)


def test_what_gives_no_change() -> None:
    assert change_points([1.0] * 7) is None
    same = change_points([1.0] * 8)
    assert same is not None and (same.places, same.p_value) == ((), 1.0)
    with pytest.raises(ValueError, match="finite"):
        change_points([float("nan")] * 8)


def test_series_without_a_change_are_seldom_said_to_have_one() -> None:
    rng = np.random.default_rng(7)
    false = 0
    for _ in range(60):
        found = change_points(rng.standard_t(5, 12).tolist())
        false += found is not None and found.p_value <= 0.05
    least = proportion_interval(false, 60).low
    assert least is not None and least <= 0.05


def said(values: list[float]) -> bool:
    found = change_points(values)
    return found is not None and found.p_value <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("phi", [0.0, 0.3, 0.5, 0.7])
def test_days_that_are_like_the_day_before_are_no_change(phi: float) -> None:
    rng = np.random.default_rng(11)
    false = sum(map(said, without_change(rng, 1_000, 20, phi).tolist()))
    least = proportion_interval(false, 1_000).low
    assert least is not None and least <= 0.05


@pytest.mark.slow
def test_a_step_among_such_days_is_found() -> None:
    """Three standard deviations, in the middle of twenty campaigns with an autocorrelation of 0.3."""
    found = 0
    for values in without_change(np.random.default_rng(12), 300, 20, 0.3):
        values[10:] += 3
        change = change_points(values.tolist())
        found += (
            change is not None and change.p_value <= 0.05 and any(abs(at - 10) <= 2 for at in change.places)
        )
    assert found >= 150


@pytest.mark.slow
@pytest.mark.parametrize("n", [8, 20, 60])
def test_the_table_of_what_chance_reaches_is_as_simulated(n: int) -> None:
    """Where one in five and one in twenty are: what is rarer takes more series than a test has time for."""
    rare = [CHANCES.index(0.2), CHANCES.index(0.05)]
    assert by_chance(n, 4_000)[:, rare] == pytest.approx(np.array(BY_CHANCE[n])[:, rare], abs=0.8)


@given(st.floats(0, 60), st.floats(0, 60), st.integers(8, 500))
def test_stronger_evidence_is_never_likelier_by_chance(one: float, other: float, n: int) -> None:
    for reached in table_of(n):
        least, most = (chance_of(ratio, reached) for ratio in sorted((one, other)))
        assert 0 < most <= least <= 1


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve campaigns, from the eighth on under another kernel; the container lost a tenth with it."""
    root, rng = tmp_path_factory.mktemp("history"), np.random.default_rng(1)
    for number in range(CAMPAIGNS):
        later = number >= CHANGED
        trials = [
            trial
            for name, level in (("raw", 100.0), (HOSTILE, 90.0 if later else 100.0))
            for trial in blocks(rng.normal(level, 0.5, 2).tolist(), platform=name, offered_mbps=200.0)
        ]
        make(
            root / f"run-{number:02}",
            trials,
            created_at=f"2026-01-{number + 1:02}T00:00:00+00:00",
            vtax_version="2" if later else "1",
        )
    (root / "damaged").mkdir()
    (root / "damaged/campaign.json").write_text("{")
    return root


@pytest.fixture(scope="module")
def history(directory: Path) -> History:
    return read_history(directory, 0.05)


def test_the_level_that_changed_is_told_with_what_changed_with_it(history: History) -> None:
    (chapter,) = history.chapters
    assert len(chapter.experiment.campaigns) == CAMPAIGNS
    changed = {(one.platform, one.metric.name): one.levels for one in chapter.series if one.levels}
    assert set(changed) == {(HOSTILE, "throughput"), (HOSTILE, "loss")}
    (level,) = changed[HOSTILE, "throughput"]
    assert (level.place, f"{level.since:%d}", level.with_it) == (CHANGED, "08", ("vtax: 1 to 2",))
    assert level.change.low is not None and level.change.low < -0.1 < (level.change.high or 0)
    assert len(history.unread) == 1 and "damaged/campaign.json" in history.unread[0]


def test_a_tolerance_hides_smaller_changes(directory: Path) -> None:
    (chapter,) = read_history(directory, 0.2).chapters
    assert not [one for one in chapter.series if one.levels and not one.metric.points]


def ticking(directory: Path, ticks: tuple[int, int]) -> History:
    """Twelve campaigns whose CPUs were busy for so many ticks of 1.06% before the change and after it."""
    made = [make(directory / f"made-{side}", busy(1.06 * ticks[side], 1.06)) for side in (0, 1)]
    for number in range(CAMPAIGNS):
        again(made[number >= CHANGED], directory / f"all/run-{number:02}", number + 1)
    return read_history(directory / "all", 0.05)


@pytest.mark.parametrize("ticks", [(1, 2), (2, 1), (7, 8)])
def test_one_tick_of_cpu_time_is_no_change_of_level(ticks: tuple[int, int], tmp_path: Path) -> None:
    (chapter,) = ticking(tmp_path, ticks).chapters
    (cpu,) = [series for series in chapter.series if series.metric.name == "cpu"]
    assert cpu.levels == ()
    value = cpu.points[0].value
    assert (value.low, value.high) == pytest.approx((1.06 * (ticks[0] - 1), 1.06 * (ticks[0] + 1)))


@pytest.mark.parametrize("ticks", [(1, 3), (3, 1)])
def test_more_than_a_tick_is_a_change_whose_interval_is_wider_by_one(
    ticks: tuple[int, int], tmp_path: Path
) -> None:
    (chapter,) = ticking(tmp_path, ticks).chapters
    ((level,),) = [series.levels for series in chapter.series if series.metric.name == "cpu"]
    ratio = ticks[1] / ticks[0]
    assert level.change.value == pytest.approx(ratio - 1)
    ends = [math.expm1(math.log(ratio) + step) for step in (-1, 1)]
    assert (level.change.low, level.change.high) == pytest.approx(ends)


def test_names_are_escaped_on_the_page(history: History) -> None:
    page = history_page(history)
    assert "<img" not in page.split("<script>")[0] and "49" not in re.findall(r"<h2>(.*?)</h2>", page)[0]
    assert page.count("</script>") == 3
    plots = page.split('id="plots">')[1].split("</script>")[0]
    assert "<" not in plots
    names = {trace["name"] for plot in json.loads(plots).values() for trace in plot["data"]}
    assert len(names) == 2 and not [name for name in names if "<" in name]
    assert "https:" not in page.split("<script>")[0]


@pytest.mark.slow
def test_the_command_shows_writes_and_tells(directory: Path, tmp_path: Path, capsys: Captured) -> None:
    page = tmp_path / "page.html"
    assert main(["history", str(directory), "--out", str(page)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "2 changes of level in 10 series" in text and "not read:" in text and "vtax: 1 to 2" in text
    assert page.is_file()
    assert main(["history", str(directory), "--out", str(page), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["experiments"][0]["series"]) == 10


def test_few_campaigns_are_shown_and_not_asked(directory: Path, tmp_path: Path, capsys: Captured) -> None:
    for number in range(2):
        (tmp_path / str(number)).symlink_to(directory / f"run-{number:02}")
    assert main(["history", f"{tmp_path}/"]) == 2  # links are not followed
    capsys.readouterr()
    for number in range(2):
        make(tmp_path / f"made-{number}", blocks([9.0, 9.1]), created_at=f"2026-01-0{number + 1}T00:00:00")
    assert main(["history", str(tmp_path)]) == 0
    assert "5 series skipped: fewer than 8 campaigns" in " ".join(capsys.readouterr().out.split())


def test_copies_of_one_campaign_count_once(tmp_path: Path, capsys: Captured) -> None:
    for number in range(2):
        make(tmp_path / f"made-{number}", blocks([9.0, 9.1]), created_at=f"2026-01-0{number + 1}T00:00:00")
    copytree(tmp_path / "made-0", tmp_path / "once-more")
    (chapter,) = (history := read_history(tmp_path, 0.05)).chapters
    assert len(chapter.experiment.campaigns) == 2
    assert history.unread == [f"{tmp_path / 'once-more'}: the same campaign as {tmp_path / 'made-0'}"]


def test_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no campaign below it"):
        read_history(tmp_path, 0.05)
    assert main(["history", str(tmp_path / "nowhere")]) == 2
    make(tmp_path / "r", blocks([1.0, 2.0]), created_at="yesterday")
    with pytest.raises(InputError, match="created_at is 'yesterday', not a time"):
        read_history(tmp_path, 0.05)
