"""Two campaigns compared: what is found, what is refused, and every form it is shown in."""

import html
import json
from pathlib import Path
from shutil import copytree
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.helpers.comparisons import (
    STEADY,
    command,
    compare_results,
    invalid,
    made,
    regressed_campaigns,
    steady,
    verdicts,
)
from tests.helpers.json_schema import broken
from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import Made
from tests.helpers.results.synthetic import make_result
from vtax.cli import main
from vtax.documents.schema import document_schema
from vtax.inputs import InputError
from vtax.model.metrics import LOSS
from vtax.results import Result
from vtax.views.compare import ChangeVerdict
from vtax.views.compare.changes import changes
from vtax.views.compare.document import comparison_document
from vtax.views.compare.junit import comparison_junit
from vtax.views.compare.markdown import comparison_markdown
from vtax.views.metrics import ALL, MeasuredCell

Captured = pytest.CaptureFixture[str]
HOSTILE = "</script><img src=x onerror=alert(1)>|[red]\x07`*"


@pytest.fixture(scope="module")
def regressed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Result]:
    return regressed_campaigns(tmp_path_factory.mktemp("regressed"))


def test_a_tenth_is_found_where_it_is(regressed: tuple[Result, Result]) -> None:
    compared = compare_results(*regressed, within=0.05)
    assert verdicts(compared, "throughput") == {"raw": ChangeVerdict.SAME, "container": ChangeVerdict.WORSE}
    assert verdicts(compared, "latency_p50") == {"raw": ChangeVerdict.SAME, "container": ChangeVerdict.SAME}
    found = next(
        change
        for change in compared.changes
        if change.verdict is ChangeVerdict.WORSE and not change.metric.points
    )
    assert found.change is not None and found.change.n == 10
    assert found.change.low is not None and found.change.low < -0.1 < (found.change.high or 0)


def test_a_tenth_is_found_among_many_where_no_repetition_differs_from_another(tmp_path: Path) -> None:
    names = [f"platform{number}" for number in range(8)]
    before = made(tmp_path / "a", {name: [100.0] * 3 for name in names})
    after = made(tmp_path / "b", {name: [90.0 if name == names[0] else 100.0] * 3 for name in names})
    found = verdicts(compare_results(before, after, within=0.05), "throughput")
    assert found == {name: ChangeVerdict.WORSE if name == names[0] else ChangeVerdict.SAME for name in names}


def test_the_other_way_round_it_is_better(regressed: tuple[Result, Result]) -> None:
    compared = compare_results(*reversed(regressed), within=0.05)
    assert verdicts(compared, "throughput")["container"] is ChangeVerdict.BETTER
    assert verdicts(compared, "loss")["container"] is ChangeVerdict.BETTER


@pytest.mark.parametrize(
    ("rates", "note"),
    [([90.0], "n = 1 in B"), ([80.0, 120.0, 60.0], "more repetitions needed")],
)
def test_too_little_is_said_to_be(rates: list[float], note: str, tmp_path: Path) -> None:
    before, after = made(tmp_path / "a", {"raw": STEADY}), made(tmp_path / "b", {"raw": rates})
    compared = compare_results(before, after, within=0.05)
    found = next(change for change in compared.changes if change.metric.name == "throughput")
    assert (found.verdict, found.note) == (ChangeVerdict.UNKNOWN, note)


def test_a_quantile_that_a_repetition_has_lost_is_withheld(tmp_path: Path) -> None:
    before = made(tmp_path / "a", {"raw": STEADY})
    trials = [Made("raw", block, delay_ns=9_000 if block else None) for block in range(4)]
    compared = compare_results(before, make(tmp_path / "b", trials), within=0.05)
    found = next(change for change in compared.changes if change.metric.name == "latency_p50")
    assert (found.verdict, found.note) == (
        ChangeVerdict.UNKNOWN,
        "1 of 4 repetitions of B have no such quantile",
    )


def test_a_repetition_whose_source_was_late_is_left_out_of_a_quantile_and_named(tmp_path: Path) -> None:
    before = made(tmp_path / "a", {"raw": STEADY})
    trials = [Made("raw", block, delay_ns=9_000, lateness_ns=0 if block else 5_000) for block in range(4)]
    compared = compare_results(before, make(tmp_path / "b", trials), within=0.05)
    found = next(change for change in compared.changes if change.metric.name == "latency_p50")
    assert found.after is not None
    assert (found.after.n, found.after.value) == (3, 9_000)
    assert (found.verdict, found.note) == (
        ChangeVerdict.WORSE,
        "without 1 of 4 repetitions of B, whose source was late",
    )


def test_a_quantile_of_which_all_sources_were_late_is_not_compared(tmp_path: Path) -> None:
    before = made(tmp_path / "a", {"raw": STEADY})
    trials = [Made("raw", block, delay_ns=9_000, lateness_ns=5_000) for block in range(4)]
    compared = compare_results(before, make(tmp_path / "b", trials), within=0.05)
    found = next(change for change in compared.changes if change.metric.name == "latency_p50")
    assert (found.after, found.note) == (
        None,
        "n = 0 in B: without 4 of 4 repetitions of B, whose source was late",
    )


def test_a_campaign_against_itself_finds_nothing(tmp_path: Path) -> None:
    """Cells and metrics of two synthetic campaigns that differ by chance alone."""
    grid: dict[str, Any] = {
        "platforms": ["raw", "container"],
        "streams": [1],
        "frame_bytes": [64],
        "loads": [100.0, None],
    }
    sides = [make_result(tmp_path / str(seed), **grid, repetitions=4, seed=seed) for seed in (1, 2)]
    compared = compare_results(*(Result.open(side) for side in sides), within=0.0)
    assert len(compared.changes) == 24
    assert compared.counts[ChangeVerdict.WORSE] + compared.counts[ChangeVerdict.BETTER] == 0


def test_cells_of_one_side_alone_are_named(tmp_path: Path) -> None:
    before = made(tmp_path / "a", {"raw": STEADY, "container": STEADY})
    after = made(tmp_path / "b", {"raw": STEADY, "lxc": STEADY})
    compared = compare_results(before, after, within=0.05)
    assert [cell.split()[0] for cell in compared.only_in_a + compared.only_in_b] == [
        "platform=container",
        "platform=lxc",
    ]
    with pytest.raises(InputError, match="no cell with usable trials in common"):
        compare_results(made(tmp_path / "c", {"uml": STEADY}), after, within=0.05)


@pytest.mark.parametrize("rules", [(), ("--fail-on", "throughput<-5%")])
@pytest.mark.parametrize("unusable", ["a", "b", "ab"])
def test_a_campaign_without_a_usable_trial_is_a_status_of_its_own(
    unusable: str, rules: tuple[str, ...], tmp_path: Path, capsys: Captured
) -> None:
    sides = [make(tmp_path / name, invalid("raw") if name in unusable else steady("raw")) for name in "ab"]
    junit = tmp_path / "junit.xml"
    directories = [str(side.directory) for side in sides]
    assert main(["compare", *directories, *rules, "--junit", str(junit)]) == 3
    text = capsys.readouterr().out
    assert all(f"no trial of {name.upper()} is usable" in text for name in unusable)
    suite = ElementTree.parse(junit).getroot()  # noqa: S314, written here
    assert len(suite.findall("testcase/error[@type='no usable trial']")) == len(unusable)


STARTED = {"created_at": "2026-11-24T10:00:00.123456+00:00"}


@pytest.mark.parametrize("other", ["a", "copy", "link"])
def test_a_campaign_is_not_compared_with_itself(other: str, tmp_path: Path, capsys: Captured) -> None:
    campaign = made(tmp_path / "a", {"raw": STEADY}, **STARTED)
    copytree(campaign.directory, tmp_path / "copy")
    (tmp_path / "link").symlink_to(campaign.directory)
    assert main(["compare", str(campaign.directory), str(tmp_path / other)]) == 2
    captured = capsys.readouterr()
    assert "are the same campaign; compare it with another campaign" in captured.err
    assert captured.err.count("\n") == 1 and not captured.out


def test_campaigns_of_one_seed_or_of_one_moment_are_compared(tmp_path: Path) -> None:
    first = made(tmp_path / "a", {"raw": STEADY}, **STARTED)
    later = made(tmp_path / "b", {"raw": STEADY}, created_at="2026-11-24T10:00:00.123457+00:00")
    elsewhere = made(tmp_path / "c", {"raw": STEADY}, **STARTED, seed=8)
    assert compare_results(first, later, within=0.05).changes
    assert compare_results(first, elsewhere, within=0.05).changes


def test_within_zero_nothing_but_loss_is_the_same(tmp_path: Path, capsys: Captured) -> None:
    sides = [made(tmp_path / name, {"raw": STEADY}) for name in "ab"]
    assert command(*sides, "--within", "0", "--json") == 0
    changes = json.loads(capsys.readouterr().out)["changes"]
    assert {change["metric"] for change in changes if change["verdict"] == "same"} == {"loss"}
    assert command(*sides, "--within", "0") == 0
    assert "1 same within 0% (loss 0.5 pp)" in capsys.readouterr().out


def test_every_metric_has_a_resolution() -> None:
    assert [metric.name for metric in ALL if not metric.resolution and metric.step_column is None] == []


def test_every_form_holds_every_change(
    regressed: tuple[Result, Result], tmp_path: Path, capsys: Captured
) -> None:
    junit = tmp_path / "junit.xml"
    assert command(*regressed, "--json", "--junit", str(junit)) == 0
    document = json.loads(capsys.readouterr().out)
    assert broken(document, document_schema("compare")) == []
    assert document["verdicts"]["worse"] == 2
    suite = ElementTree.parse(junit).getroot()  # noqa: S314, written here
    assert (int(suite.get("tests", 0)), int(suite.get("failures", 0))) == (len(document["changes"]), 2)
    assert command(*regressed, "--markdown") == 0
    assert capsys.readouterr().out.count("| platform=container") == sum(
        "container" in change["cell"] for change in document["changes"]
    )
    assert command(*regressed) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "2 worse, 0 better, 0 not enough data, 8 same within 5% (loss 0.5 pp)" in text and "−10.0%" in text


def test_names_from_a_result_are_neither_html_nor_markdown_nor_broken_xml(tmp_path: Path) -> None:
    sides = [
        made(tmp_path / name, {HOSTILE: STEADY}, platforms={HOSTILE: {"facts": {"x": name}}}) for name in "ab"
    ]
    compared = compare_results(*sides, within=0.05)
    page = comparison_markdown(compared)
    assert "<" not in page and html.unescape(page) != page
    rows = [line for line in page.splitlines() if line.startswith("| platform")]
    assert rows and all(line.replace("\\|", "").count("|") == 8 for line in rows)
    suite = ElementTree.fromstring(comparison_junit(compared))  # noqa: S314, written here
    assert suite[0].get("classname", "").startswith("platform=</script>")
    json.dumps(comparison_document(compared).as_json(), allow_nan=False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--within", "100"], "--within"),
        (["--json", "--markdown"], "leave out one"),
        (["--junit", "/nowhere/at/all.xml"], "--junit: /nowhere/at/all.xml: No such file"),
    ],
)
def test_wrong_options(
    arguments: list[str], said: str, regressed: tuple[Result, Result], capsys: Captured
) -> None:
    assert main(["compare", *(str(side.directory) for side in regressed), *arguments]) == 2
    assert said in capsys.readouterr().err


def test_help_lists_every_exit_status(capsys: Captured) -> None:
    assert main(["compare", "--help"]) == 0
    text = capsys.readouterr().out
    listed = text[text.index("Exit status:") : text.index("Arguments:")]
    assert [line.split()[0] for line in listed.splitlines()[1:] if line.strip()] == ["0", "2", "3", "4", "5"]


def test_loss_comes_in_steps_of_a_frame() -> None:
    """Of a million frames one lost is no tenth of a percentage point."""

    def side(losses: list[float]) -> MeasuredCell:
        return MeasuredCell("cell", "own", "raw", 3, {LOSS.name: losses}, steps={LOSS.name: 1e-6})

    key = ("cell", "own")
    sides = {key: side([0.0] * 3)}, {key: side([1e-3] * 3)}
    (row,) = changes(*sides, [(key, key)], (LOSS,), 0.05, adaptive=False)
    assert row.change is not None and row.after is not None
    assert (row.change.low, row.change.high) == pytest.approx((1e-3 - 1e-6, 1e-3 + 1e-6))
    assert (row.after.low, row.after.high) == pytest.approx((1e-3 - 1e-6, 1e-3 + 1e-6))


def test_an_interval_beyond_the_tolerance_that_is_one_of_many_says_so(tmp_path: Path) -> None:
    others = {f"platform{number:02}": STEADY for number in range(5)}
    before = made(tmp_path / "a", {"raw": [100.0, 101.0, 99.0], **others})
    after = made(tmp_path / "b", {"raw": [91.2, 92.4, 90.4], **others})
    compared = compare_results(before, after, within=0.05)
    (found,) = [
        row for row in compared.changes if row.verdict is ChangeVerdict.UNKNOWN and not row.metric.points
    ]
    assert found.change is not None and found.change.high is not None and found.change.high < -0.05
    assert (
        found.note == f"beyond the tolerance, but not significant among {len(compared.changes)} comparisons"
    )
