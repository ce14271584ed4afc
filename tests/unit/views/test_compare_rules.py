"""Rules on a comparison: broken, undecided or passed, and the exit status of each."""

import html
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.comparisons import (
    STEADY,
    busy,
    compare_results,
    gate,
    invalid,
    made,
    scaled,
    steady,
    verdicts,
)
from tests.helpers.json_schema import broken
from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import Made
from vtax.cli import main
from vtax.documents.schema import document_schema
from vtax.inputs import InputError
from vtax.results import Result
from vtax.views.compare import ChangeVerdict, Outcome, compare, parse_rules
from vtax.views.compare.side import Side

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("rules", "status"),
    [
        ("throughput<-5%", 4),
        ("throughput<-9.5%", 4),
        ("throughput<-10%", 5),  # the container lost exactly that
        ("throughput<-11%", 0),
        ("throughput>-5%", 4),  # raw's
        ("throughput > +5%, latency_p99>+10%,cpu>+1%", 0),
        ("loss>+1pp", 4),
        ("loss>+6pp", 0),
    ],
)
def test_a_rule_is_broken_beyond_its_limit_undecided_across_it_and_passes_within(
    rules: str, status: int, regressed: tuple[Result, Result], capsys: Captured
) -> None:
    assert gate(*regressed, rules) == status
    lines = capsys.readouterr().out.splitlines()
    first = rules.split(",", maxsplit=1)[0]
    assert any(line.startswith(first) for line in lines) == (status == 4)
    assert any(line.startswith(f"undecided: {first}: platform=container") for line in lines) == (status == 5)


@pytest.mark.parametrize("bound", [-20.0, -10.0, -9.9, -5.0, -0.1, 0.0, 0.1, 5.0])
@pytest.mark.parametrize("side", ["<", ">"])
def test_a_rule_passes_only_where_the_interval_lies_inside_it(
    bound: float, side: str, sides: tuple[Side, Side]
) -> None:
    compared = compare(*sides, within=0.05, rules=parse_rules(f"throughput{side}{bound}%"))
    assert len(compared.judged) == 2
    for one in compared.judged:
        change = one.change and one.change.change
        assert change and change.low is not None and change.high is not None
        inside = change.low >= bound / 100 if side == "<" else change.high <= bound / 100
        beyond = change.high < bound / 100 if side == "<" else change.low > bound / 100
        assert (one.outcome is Outcome.PASSED) == inside
        assert one.outcome is not Outcome.BROKEN or beyond
        assert one.detectable is not None and parse_rules(one.rule.text)[0].is_beyond(one.detectable)


FLOOD = [460.2, 719.4, 701.7]
"""Throughput of three floods on a machine that others share."""


@pytest.mark.parametrize(
    ("factor", "why"),
    [
        (0.7, "the interval crosses the limit"),
        (0.5, "beyond the limit, but not significant among 12 comparisons"),
    ],
)
def test_a_loss_that_three_repetitions_cannot_show_does_not_pass(
    factor: float, why: str, tmp_path: Path, capsys: Captured
) -> None:
    others = {f"platform{number:02}": STEADY for number in range(11)}
    before = made(tmp_path / "a", {"raw": FLOOD, **others})
    lossy = made(tmp_path / "b", {"raw": [factor * rate for rate in FLOOD], **others})
    assert gate(before, lossy, "throughput<-5%") == 5
    text = " ".join(capsys.readouterr().out.split())
    assert "undecided: throughput<-5%: platform=raw" in text
    assert f"−{100 * (1 - factor):.1f}% [" in text
    assert f"{why}; smallest detectable change at 80% power: −8" in text
    assert re.search(r"; about \d+ more repetitions? of each would decide", text)
    assert "rules: 0 broken, 1 undecided, 11 passed" in text


def test_enough_repetitions_pass_or_break_the_same_rule(tmp_path: Path) -> None:
    many = [value for drift in (1.0, 1.002, 0.998) for value in (drift * rate for rate in STEADY)]
    before = made(tmp_path / "a", {"raw": many})
    same = made(tmp_path / "b", {"raw": many[::-1]})
    lossy = made(tmp_path / "c", {"raw": [0.9 * value for value in many]})
    assert gate(before, same, "throughput<-5%") == 0
    assert gate(before, lossy, "throughput<-5%") == 4


def test_every_verdict_of_a_rule_has_the_smallest_change_in_json(tmp_path: Path, capsys: Captured) -> None:
    before = made(tmp_path / "a", {"raw": FLOOD, "container": STEADY, "lxc": STEADY})
    lossy = {"raw": [0.7 * rate for rate in FLOOD], "container": scaled(0.8), "lxc": scaled(1.0)}
    assert gate(before, made(tmp_path / "b", lossy), "throughput<-5%", "--json") == 4
    document = json.loads(capsys.readouterr().out)
    assert broken(document, document_schema("compare")) == []
    smallest = {
        one["cell"].split()[0].removeprefix("platform="): one["smallest_change"]
        for verdict in ("broken", "passed", "undecided")
        for one in document[f"{verdict}_rules"]
    }
    assert smallest["container"] == pytest.approx(smallest["lxc"], abs=1e-3)
    assert -1 < smallest["raw"] < smallest["lxc"] < -0.05


def test_a_broken_rule_weighs_more_than_an_undecided_one(tmp_path: Path, capsys: Captured) -> None:
    before = made(tmp_path / "a", {"raw": FLOOD, "container": STEADY})
    lossy = made(tmp_path / "b", {"raw": [0.7 * rate for rate in FLOOD], "container": scaled(0.8)})
    assert gate(before, lossy, "throughput<-5%") == 4
    assert "rules: 1 broken, 1 undecided, 0 passed" in capsys.readouterr().out


def test_a_change_beyond_the_limit_that_is_one_of_many_is_undecided(tmp_path: Path) -> None:
    """An interval that excludes the limit by little, among 24 that do not: chance alone makes some such."""
    steady = {f"platform{number:02}": STEADY for number in range(23)}
    before = made(tmp_path / "a", {"raw": [100.0, 101.0, 99.0], **steady})
    after = made(tmp_path / "b", {"raw": [91.0, 92.0, 90.0], **steady})
    compared = compare_results(before, after, within=0.05, rules=parse_rules("throughput<-6%"))
    (one,) = compared.with_outcome(Outcome.UNDECIDED)
    change = one.change and one.change.change
    assert change and change.high is not None and change.high < -0.06
    assert one.reason == "beyond the limit, but not significant among 24 comparisons"
    assert one.detectable is not None and one.detectable < change.value


def test_a_ruled_cell_that_is_not_compared_is_undecided_for_a_reason(
    tmp_path: Path, capsys: Captured
) -> None:
    before = make(tmp_path / "a", [*steady("raw"), *steady("lxc"), *steady("uml"), *invalid("gvisor")])
    after = make(tmp_path / "b", [*steady("raw"), *steady("container"), *invalid("uml")])
    assert gate(before, after, "throughput<-5%", "--json") == 5
    document = json.loads(capsys.readouterr().out)
    assert broken(document, document_schema("compare")) == []
    reasons = {found["cell"].split()[0]: found["reason"] for found in document["undecided_rules"]}
    assert reasons == {
        "platform=container": "not measured in A",
        "platform=lxc": "not measured in B",
        "platform=uml": "no usable trial in B",
        "platform=gvisor": "no usable trial in A, not measured in B",
    }
    assert document["rules"] == {"broken": 0, "undecided": 4, "passed": 1}
    junit = tmp_path / "junit.xml"
    assert gate(before, after, "throughput<-5%", "--junit", str(junit)) == 5
    suite = ElementTree.parse(junit).getroot()  # noqa: S314, written here
    assert suite.get("errors") == "4" and suite.get("failures") == "0"


@pytest.mark.parametrize(
    ("trials", "reason"),
    [
        ([Made("raw", block, delay_ns=5_000 if block else None) for block in range(4)], "1 of 4 repetitions"),
        ([Made("raw", block, delay_ns=None) for block in range(4)], "n = 0 in B"),
        ([Made("raw")], "n = 1 in B"),
    ],
)
def test_a_withheld_value_of_a_ruled_metric_is_undecided(
    trials: list[Made], reason: str, tmp_path: Path, capsys: Captured
) -> None:
    before = make(tmp_path / "a", [Made("raw", block) for block in range(4)])
    assert gate(before, make(tmp_path / "b", trials), "latency_p50>+10%", "--markdown") == 5
    page = html.unescape(capsys.readouterr().out).replace("\\", "")
    assert "**Rules: 0 broken, 1 undecided, 0 passed**" in page
    (line,) = [line for line in page.splitlines() if line.startswith("- undecided: latency_p50>+10%: ")]
    assert reason in line


def test_a_metric_that_neither_campaign_has_is_undecided(tmp_path: Path, capsys: Captured) -> None:
    sides = [
        make(tmp_path / name, [Made("raw", block, host_percent=None) for block in range(3)]) for name in "ab"
    ]
    assert gate(*sides, "cpu>+10%") == 5
    assert "no value in A and B" in capsys.readouterr().out


def test_a_rule_of_what_is_not_measured_is_refused(
    regressed: tuple[Result, Result], capsys: Captured
) -> None:
    assert gate(*regressed, "goodput<-5%") == 2
    assert "do not measure goodput; they measure: throughput, loss," in capsys.readouterr().err


@pytest.mark.parametrize(
    ("step_percent", "verdict", "status"), [(1.06, ChangeVerdict.UNKNOWN, 5), (0.01, ChangeVerdict.WORSE, 4)]
)
def test_equal_cpu_times_are_known_to_their_tick(
    step_percent: float, verdict: ChangeVerdict, status: int, tmp_path: Path
) -> None:
    before, after = (
        make(tmp_path / name, busy(percent, step_percent)) for name, percent in (("a", 1.06), ("b", 2.13))
    )
    compared = compare_results(before, after, within=0.05)
    assert verdicts(compared, "cpu")["raw"] is verdict
    (change,) = [change.change for change in compared.changes if change.metric.name == "cpu"]
    assert change and change.low is not None and change.high is not None and change.low < 1.009 < change.high
    assert gate(before, after, "cpu>+10%") == status


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


def test_one_repetition_decides_no_rule(tmp_path: Path) -> None:
    sides = [make(tmp_path / name, [Made("raw")]) for name in "ab"]
    assert main(["compare", *(str(side.directory) for side in sides)]) == 0
    assert gate(*sides, "throughput<-5%") == 5


def test_an_undecided_rule_is_an_error_in_junit_and_a_broken_one_a_failure(tmp_path: Path) -> None:
    before = made(tmp_path / "a", {"raw": FLOOD, "container": STEADY, "lxc": STEADY})
    lossy = {"raw": [0.7 * rate for rate in FLOOD], "container": scaled(0.8), "lxc": scaled(1.0)}
    junit = tmp_path / "junit.xml"
    assert (
        gate(before, made(tmp_path / "b", lossy), "throughput<-5%,throughput>+10%", "--junit", str(junit))
        == 4
    )
    suite = ElementTree.parse(junit).getroot()  # noqa: S314, written here
    found = {
        case.get("classname", "").split()[0].removeprefix("platform="): (case[0].tag, case[0].get("type"))
        for case in suite
        if case.get("name") == "throughput"
    }
    assert found == {
        "raw": ("error", "undecided"),
        "container": ("failure", "broken"),
        "lxc": ("system-out", None),
    }
    assert [suite.get(name) for name in ("failures", "errors")] == ["1", "1"]
    error = suite.find("testcase/error")
    assert error is not None and error.get("message") == "undecided: throughput<-5%, throughput>+10%"
    assert "smallest detectable change at 80% power: −" in (error.text or "")
