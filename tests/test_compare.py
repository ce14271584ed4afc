"""Two campaigns compared: what is found, what is refused, and every form it is shown in."""

import html
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.handmade import Made, blocks, make
from tests.synthetic import make_result
from vtax.cli import main
from vtax.inputs import InputError
from vtax.results import Result
from vtax.views.compare import Comparison, Verdict, compare, parse_rules, read_side
from vtax.views.compare.document import comparison_document
from vtax.views.compare.junit import comparison_junit
from vtax.views.compare.markdown import comparison_markdown

Captured = pytest.CaptureFixture[str]
HOSTILE = "</script><img src=x onerror=alert(1)>|[red]\x07`*"
STEADY = [100.0, 100.4, 99.7, 100.2, 99.9]


def compare_results(a: Result, b: Result, **options: Any) -> Comparison:
    return compare(read_side(a), read_side(b), **options)


def made(directory: Path, by_platform: dict[str, Sequence[float]], **campaign: Any) -> Result:
    """A campaign with these received rates of each platform."""
    trials = [
        trial
        for name, rates in by_platform.items()
        for trial in blocks(rates, platform=name, offered_mbps=200.0)
    ]
    return make(directory, trials, **campaign)


def scaled(factor: float) -> list[float]:
    return [factor * value for value in reversed(STEADY)]


@pytest.fixture(scope="module")
def regressed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Result]:
    """The container lost a tenth of its throughput; raw is as before."""
    tmp_path = tmp_path_factory.mktemp("regressed")
    before = made(tmp_path / "a", {"raw": STEADY, "container": STEADY})
    return before, made(tmp_path / "b", {"raw": scaled(1.0), "container": scaled(0.9)})


def verdicts(compared: Comparison, metric: str) -> dict[str, Verdict]:
    return {
        change.cell.split()[0].removeprefix("platform="): change.verdict
        for change in compared.changes
        if change.metric.name == metric
    }


def test_a_tenth_is_found_where_it_is(regressed: tuple[Result, Result]) -> None:
    compared = compare_results(*regressed, within=0.05)
    assert verdicts(compared, "throughput") == {"raw": Verdict.SAME, "container": Verdict.WORSE}
    assert verdicts(compared, "latency_p50") == {"raw": Verdict.SAME, "container": Verdict.SAME}
    found = next(
        change for change in compared.changes if change.verdict is Verdict.WORSE and not change.metric.points
    )
    assert found.change is not None and found.change.n == 10
    assert found.change.low is not None and found.change.low < -0.1 < (found.change.high or 0)


def test_a_tenth_is_found_among_many_where_no_repetition_differs_from_another(tmp_path: Path) -> None:
    names = [f"platform{number}" for number in range(8)]
    before = made(tmp_path / "a", {name: [100.0] * 3 for name in names})
    after = made(tmp_path / "b", {name: [90.0 if name == names[0] else 100.0] * 3 for name in names})
    found = verdicts(compare_results(before, after, within=0.05), "throughput")
    assert found == {name: Verdict.WORSE if name == names[0] else Verdict.SAME for name in names}


def test_the_other_way_round_it_is_better(regressed: tuple[Result, Result]) -> None:
    compared = compare_results(*reversed(regressed), within=0.05)
    assert verdicts(compared, "throughput")["container"] is Verdict.BETTER
    assert verdicts(compared, "loss")["container"] is Verdict.BETTER


@pytest.mark.parametrize(
    ("rates", "note"),
    [([90.0], "n = 1 in B"), ([80.0, 120.0, 60.0], "more repetitions needed")],
)
def test_too_little_is_said_to_be(rates: list[float], note: str, tmp_path: Path) -> None:
    before, after = made(tmp_path / "a", {"raw": STEADY}), made(tmp_path / "b", {"raw": rates})
    compared = compare_results(before, after, within=0.05)
    found = next(change for change in compared.changes if change.metric.name == "throughput")
    assert (found.verdict, found.note) == (Verdict.UNKNOWN, note)


def test_a_quantile_that_a_repetition_has_lost_is_withheld(tmp_path: Path) -> None:
    before = made(tmp_path / "a", {"raw": STEADY})
    trials = [Made("raw", block, delay_ns=9_000 if block else None) for block in range(4)]
    compared = compare_results(before, make(tmp_path / "b", trials), within=0.05)
    found = next(change for change in compared.changes if change.metric.name == "latency_p50")
    assert (found.verdict, found.note) == (Verdict.UNKNOWN, "1 of 4 repetitions of B have no such quantile")


def test_a_campaign_against_itself_finds_nothing(tmp_path: Path) -> None:
    """Twenty cells and metrics of two synthetic campaigns that differ by chance alone."""
    grid: dict[str, Any] = {
        "platforms": ["raw", "container"],
        "streams": [1],
        "frame_bytes": [64],
        "loads": [100.0, None],
    }
    sides = [make_result(tmp_path / str(seed), **grid, repetitions=4, seed=seed) for seed in (1, 2)]
    compared = compare_results(*(Result.open(side) for side in sides), within=0.0)
    assert len(compared.changes) == 20
    assert compared.counts[Verdict.WORSE] + compared.counts[Verdict.BETTER] == 0


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


HOST = {"cpu_model": "One", "cpus": 2, "label": None}


def test_every_machine_of_a_testbed_counts(tmp_path: Path) -> None:
    sides = [
        made(tmp_path / model, {"raw": STEADY}, hosts={"uut": HOST, "gen": {"cpu_model": model}})
        for model in ("One", "Two")
    ]
    with pytest.raises(InputError, match=r"--allow machine\n.*gen cpu_model: One and Two"):
        compare_results(*sides, within=0.05)


@pytest.mark.parametrize(
    ("condition", "campaign"),
    [
        ("machine", {"hosts": {"local": {**HOST, "cpus": 4}}}),
        ("settings", {"scenario": {"workload": {"kind": "forwarding", "duration_s": 2.0}}}),
        ("settings", {"scenario": {"platform": {"vcpus": 2}}}),
        ("accelerator", {"platforms": {"raw": {"accelerator": "kvm"}}}),
    ],
)
def test_other_conditions_are_refused_by_name(
    condition: str, campaign: dict[str, Any], tmp_path: Path
) -> None:
    known: dict[str, Any] = {
        "hosts": {"local": HOST},
        "platforms": {"raw": {"accelerator": "none"}},
        "scenario": {"workload": {"kind": "forwarding", "duration_s": 1.0}, "platform": {}},
    }
    before = made(tmp_path / "a", {"raw": STEADY}, **known)
    after = made(
        tmp_path / "b",
        {"raw": STEADY},
        **{**known, **campaign, "scenario": {**known["scenario"], **campaign.get("scenario", {})}},
    )
    with pytest.raises(InputError, match=f"--allow {condition}\n"):
        compare_results(before, after, within=0.05)
    compared = compare_results(before, after, within=0.05, allow=[condition])
    assert [difference.condition for difference in compared.differences] == [condition]
    with pytest.raises(InputError, match="no condition 'weather'; there are: machine, kernel"):
        compare_results(before, after, within=0.05, allow=["weather"])


def test_another_context_is_refused_and_compared_when_allowed(tmp_path: Path) -> None:
    sides = [make(tmp_path / context, blocks(STEADY, uut_context=context)) for context in ("own", "sender")]
    with pytest.raises(InputError, match="own and sender"):
        compare_results(*sides, within=0.05)
    compared = compare_results(*sides, within=0.05, allow=["context"])
    assert {change.metric.name for change in compared.changes} >= {"throughput", "cpu"}
    assert not compared.only_in_a


def test_platforms_facts_are_told_and_not_refused(tmp_path: Path) -> None:
    sides = [
        made(tmp_path / version, {"raw": STEADY}, platforms={"raw": {"facts": {"version": version}}})
        for version in ("7.2", "9.1")
    ]
    assert compare_results(*sides, within=0.05).notes == ["raw version: 7.2 and 9.1"]


@pytest.mark.parametrize(
    ("rules", "fires"),
    [
        ("throughput<-5%", True),
        ("throughput<-9.5%", True),
        ("throughput<-10%", False),
        ("throughput>-5%", True),  # raw's
        ("throughput > +5%, latency_p99>+10%,cpu>+1%", False),
        ("loss>+1pp", True),
        ("loss>+6pp", False),
    ],
)
def test_a_rule_fires_where_the_interval_excludes_its_bound(
    rules: str, fires: bool, regressed: tuple[Result, Result], capsys: Captured
) -> None:
    directories = [str(side.directory) for side in regressed]
    assert main(["compare", *directories, "--fail-on", rules]) == (4 if fires else 0)
    said = [
        line
        for line in capsys.readouterr().out.splitlines()
        if line.startswith(rules.split(",", maxsplit=1)[0])
    ]
    assert bool(said) == fires


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("", "'' is no rule"),
        ("throughput", "is no rule"),
        ("throughput<-5%,", "'' is no rule"),
        ("throughput<=-5%", "is no rule"),
        ("speed<-5%", "no metric 'speed'; there are: throughput, loss,"),
        ("throughput<-5", "throughput changes by percent, as in throughput<-5%"),
        ("loss>+1%", "loss changes by percentage points, as in loss>+1pp"),
        ("throughput<-5%;loss>1pp", "is no rule"),
    ],
)
def test_a_wrong_rule_says_what_is_allowed(rules: str, said: str) -> None:
    with pytest.raises(InputError, match="--fail-on") as caught:
        parse_rules(rules)
    assert said in str(caught.value)


@given(st.text(max_size=30))
def test_any_text_is_rules_or_refused(text: str) -> None:
    try:
        rules = parse_rules(text)
    except InputError:
        return
    assert ",".join(rule.text for rule in rules) == ",".join(part.strip() for part in text.split(","))


def test_every_form_holds_every_change(
    regressed: tuple[Result, Result], tmp_path: Path, capsys: Captured
) -> None:
    directories = [str(side.directory) for side in regressed]
    junit = tmp_path / "junit.xml"
    assert main(["compare", *directories, "--json", "--junit", str(junit)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["verdicts"]["worse"] == 2
    suite = ElementTree.parse(junit).getroot()  # noqa: S314, written here
    assert (int(suite.get("tests", 0)), int(suite.get("failures", 0))) == (len(document["changes"]), 2)
    assert main(["compare", *directories, "--markdown"]) == 0
    assert capsys.readouterr().out.count("| platform=container") == sum(
        "container" in change["cell"] for change in document["changes"]
    )
    assert main(["compare", *directories]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "2 worse, 0 better, 0 not enough data, 8 same within 5%" in text and "−10.0%" in text


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
    json.dumps(comparison_document(compared), allow_nan=False)


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


def test_nothing_to_judge_is_no_success(tmp_path: Path) -> None:
    sides = [make(tmp_path / name, [Made("raw")]).directory for name in "ab"]
    assert main(["compare", *map(str, sides)]) == 3
