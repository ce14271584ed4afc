"""Two campaigns compared: what is found, what is refused, and every form it is shown in."""

import html
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copytree
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import Made, blocks
from tests.helpers.results.synthetic import make_result
from vtax.cli import main
from vtax.inputs import InputError
from vtax.results import Result, TrialRecord
from vtax.statistics import Change, Interval
from vtax.views.compare import Comparison, Outcome, Verdict, compare, parse_rules, read_side
from vtax.views.compare.document import comparison_document
from vtax.views.compare.junit import comparison_junit
from vtax.views.compare.markdown import comparison_markdown
from vtax.views.compare.rules import judge
from vtax.views.compare.side import Side
from vtax.views.metrics import ALL

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
        for trial in blocks(rates, platform=name, offered_mbps=max(200.0, *rates))
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


@pytest.fixture(scope="module")
def sides(regressed: tuple[Result, Result]) -> tuple[Side, Side]:
    """What is compared of them, read once."""
    before, after = map(read_side, regressed)
    return before, after


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


@pytest.mark.parametrize("mark", ["generator-limited", "limit-unknown"])
def test_what_bounded_a_throughput_is_its_note(mark: str, tmp_path: Path) -> None:
    trials = [Made("raw", block, received_mbps=100.0, marks=(mark,)) for block in range(4)]
    sides = make(tmp_path / "a", trials), make(tmp_path / "b", trials)
    compared = compare_results(*sides, within=0.05)
    found = next(change for change in compared.changes if change.metric.name == "throughput")
    assert (found.verdict, found.note) == (Verdict.SAME, mark)


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


@dataclass(frozen=True)
class Bridging(Made):
    """A trial whose hosts' bridges did this, as `environment` has it; None before vtax recorded it."""

    recorded: str | None = None
    kernel_digest: str = "0" * 12

    def record(self, trial_id: int) -> TrialRecord:
        row = {"host": "local", "bridge_netfilter": self.recorded, "hash": self.kernel_digest}
        made = super().record(trial_id)
        made.environment.append(row)
        return made


def bridging(directory: Path, *recorded: str | None, digest: str = "0" * 12, **campaign: Any) -> Result:
    """A campaign whose trials have one of these after the other."""
    trials = [
        Bridging("container", block, received_mbps=value, recorded=each, kernel_digest=digest)
        for block, value in enumerate(STEADY)
        for each in recorded
    ]
    return make(directory, trials, **campaign)


def hooks(**by_host: str | None) -> str:
    """Which of netfilter's tables bridges passed frames to, by host."""
    tables = ("iptables", "ip6tables", "arptables")
    return json.dumps(
        {
            host: on if on is None else {table: table in on.split() for table in tables}
            for host, on in by_host.items()
        }
    )


EVERY_TABLE = "iptables ip6tables arptables"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (None, hooks(uut="", source=""), "not recorded and off"),
        (hooks(uut=EVERY_TABLE), hooks(uut=""), "on and off"),
        (hooks(uut="iptables"), hooks(uut="iptables arptables"), "iptables and iptables and arptables"),
        (hooks(uut="", source=""), hooks(uut=EVERY_TABLE, source=""), "off and off, on"),
        ("{]", hooks(uut=""), "not recorded and off"),
    ],
)
def test_bridges_that_passed_frames_to_netfilter_are_named(
    before: str | None, after: str, said: str, tmp_path: Path
) -> None:
    sides = [bridging(tmp_path / "a", before), bridging(tmp_path / "b", after)]
    with pytest.raises(InputError, match="--allow kernel\n") as refused:
        compare_results(*sides, within=0.05)
    assert f"kernel: local netfilter in bridges: {said}" in str(refused.value)
    compared = compare_results(*sides, within=0.05, allow=["kernel"])
    assert [difference.what for difference in compared.differences] == ["local netfilter in bridges"]


def test_bridges_that_passed_none_are_alike_with_br_netfilter_and_without(tmp_path: Path) -> None:
    sides = [bridging(tmp_path / "a", hooks(uut="")), bridging(tmp_path / "b", hooks(uut=None, far=""))]
    assert compare_results(*sides, within=0.05).differences == []


def test_netfilter_in_bridges_as_a_factor_is_no_difference(tmp_path: Path) -> None:
    scenario = {"factors": {"platform": ["container"], "bridge_netfilter": [False, True]}}
    sides = [
        bridging(tmp_path / "a", hooks(uut=""), hooks(uut=EVERY_TABLE), scenario=scenario),
        bridging(tmp_path / "b", hooks(uut="")),
    ]
    assert compare_results(*sides, within=0.05).differences == []


def test_netfilter_in_bridges_explains_no_other_digest(tmp_path: Path) -> None:
    """Each side's digest is of facts that this one is not among."""
    sides = [
        bridging(tmp_path / "a", hooks(uut=EVERY_TABLE)),
        bridging(tmp_path / "b", hooks(uut=""), digest="1" * 12),
    ]
    found = compare_results(*sides, within=0.05, allow=["kernel"]).differences
    assert {difference.what for difference in found} == {
        "local netfilter in bridges",
        "local environment's digest",
    }


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
        assert (one.detectable is not None) == (one.outcome is Outcome.UNDECIDED)


FLOOD = [460.2, 719.4, 701.7]
"""Throughput of three floods on a machine that others share."""


def gate(a: Result, b: Result, rules: str, *options: str) -> int:
    """Return the exit status of a comparison with rules."""
    return main(["compare", str(a.directory), str(b.directory), "--fail-on", rules, *options])


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
    assert "rules: 0 broken, 1 undecided, 11 passed" in text


def test_enough_repetitions_pass_or_break_the_same_rule(tmp_path: Path) -> None:
    many = [value for drift in (1.0, 1.002, 0.998) for value in (drift * rate for rate in STEADY)]
    before = made(tmp_path / "a", {"raw": many})
    same = made(tmp_path / "b", {"raw": many[::-1]})
    lossy = made(tmp_path / "c", {"raw": [0.9 * value for value in many]})
    assert gate(before, same, "throughput<-5%") == 0
    assert gate(before, lossy, "throughput<-5%") == 4


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


def invalid(name: str, blocks: int = 3) -> list[Made]:
    return [Made(name, block, verdict="invalid", reasons=("clock",)) for block in range(blocks)]


def steady(name: str) -> list[Made]:
    return blocks(STEADY, platform=name, offered_mbps=200.0)


def test_a_ruled_cell_that_is_not_compared_is_undecided_for_a_reason(
    tmp_path: Path, capsys: Captured
) -> None:
    before = make(tmp_path / "a", [*steady("raw"), *steady("lxc"), *steady("uml"), *invalid("gvisor")])
    after = make(tmp_path / "b", [*steady("raw"), *steady("container"), *invalid("uml")])
    assert gate(before, after, "throughput<-5%", "--json") == 5
    document = json.loads(capsys.readouterr().out)
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
    sides = [str(made(tmp_path / name, {"raw": STEADY}).directory) for name in "ab"]
    assert main(["compare", *sides, "--within", "0", "--json"]) == 0
    changes = json.loads(capsys.readouterr().out)["changes"]
    assert {change["metric"] for change in changes if change["verdict"] == "same"} == {"loss"}
    assert main(["compare", *sides, "--within", "0"]) == 0
    assert "1 same within 0% (loss 0.5 pp)" in capsys.readouterr().out


def busy(percent: float, step_percent: float) -> list[Made]:
    """Five trials with the same busy time, read to a tick."""
    row = {"host": "local", "domain": "host", "component": "total"}
    rows = ({**row, "percent": percent, "low": percent - step_percent, "high": percent + step_percent},)
    return [Made("raw", block, host_percent=None, cpu=rows) for block in range(5)]


@pytest.mark.parametrize(
    ("step_percent", "verdict", "status"), [(1.06, Verdict.UNKNOWN, 5), (0.01, Verdict.WORSE, 4)]
)
def test_equal_cpu_times_are_known_to_their_tick(
    step_percent: float, verdict: Verdict, status: int, tmp_path: Path
) -> None:
    before, after = (
        make(tmp_path / name, busy(percent, step_percent)) for name, percent in (("a", 1.06), ("b", 2.13))
    )
    compared = compare_results(before, after, within=0.05)
    assert verdicts(compared, "cpu")["raw"] is verdict
    (change,) = [change.change for change in compared.changes if change.metric.name == "cpu"]
    assert change and change.low is not None and change.high is not None and change.low < 1.009 < change.high
    assert gate(before, after, "cpu>+10%") == status


def test_every_metric_has_a_resolution() -> None:
    assert [metric.name for metric in ALL if not metric.resolution and metric.step_column is None] == []


@pytest.mark.parametrize(
    ("low", "high", "rule", "outcome"),
    [
        (-0.02, None, "throughput<-5%", Outcome.PASSED),
        (-0.20, None, "throughput<-5%", Outcome.UNDECIDED),
        (None, -0.20, "throughput<-5%", Outcome.BROKEN),
        (None, 0.20, "throughput<-5%", Outcome.UNDECIDED),
        (None, 0.02, "throughput>+5%", Outcome.PASSED),
        (0.20, None, "throughput>+5%", Outcome.BROKEN),
        (None, None, "throughput<-5%", Outcome.UNDECIDED),
    ],
)
def test_a_change_with_one_bound_decides_what_that_bound_decides(
    low: float | None, high: float | None, rule: str, outcome: Outcome, sides: tuple[Side, Side]
) -> None:
    """A change that is only known to be at least, or at most, so large."""
    row = compare(*sides, within=0.05).changes[0]
    mean = next(0.0 if end is None else end for end in (low, high, 0.0) if end is not None)
    evidence = Change(Interval(mean, low, high, 6), lambda _: 1e-6, lambda *_: None)
    (one,) = judge(parse_rules(rule), [replace(row, evidence=evidence)], [(row.cell, row.uut_context)], [])
    assert one.outcome is outcome


def flooded(directory: Path, values: Sequence[float], mark: str, **campaign: Any) -> Result:
    """A campaign of one flood that lost nothing, each trial with a mark."""
    return make(
        directory,
        [
            Made(block=block, received_mbps=mbps, offered_mbps=mbps, intended_mbps=None, marks=(mark,))
            for block, mbps in enumerate(values)
        ],
        **campaign,
    )


LOW, HIGH = [60.0, 60.3, 59.8, 60.1, 59.9], STEADY


@pytest.mark.parametrize(
    ("before", "after", "ends", "verdict", "outcome"),
    [
        (("backpressured", HIGH), ("backpressured", LOW), (True, True), Verdict.WORSE, Outcome.BROKEN),
        (("generator-limited", HIGH), ("backpressured", LOW), (False, True), Verdict.WORSE, Outcome.BROKEN),
        (
            ("backpressured", HIGH),
            ("generator-limited", LOW),
            (True, False),
            Verdict.UNKNOWN,
            Outcome.UNDECIDED,
        ),
        (("backpressured", LOW), ("generator-limited", HIGH), (True, False), Verdict.BETTER, Outcome.PASSED),
        (
            ("generator-limited", LOW),
            ("backpressured", HIGH),
            (False, True),
            Verdict.UNKNOWN,
            Outcome.UNDECIDED,
        ),
        (("backpressured", HIGH), ("link-limited", HIGH), (True, False), Verdict.UNKNOWN, Outcome.PASSED),
    ],
)
def test_a_flood_that_something_else_bounded_shows_one_end_of_its_change(
    tmp_path: Path,
    before: tuple[str, list[float]],
    after: tuple[str, list[float]],
    ends: tuple[bool, bool],
    verdict: Verdict,
    outcome: Outcome,
) -> None:
    (mark, values), (other_mark, others) = before, after
    compared = compare_results(
        flooded(tmp_path / "a", values, mark),
        flooded(tmp_path / "b", others, other_mark, seed=2),
        within=0.05,
        rules=parse_rules("throughput<-5%"),
    )
    row = next(row for row in compared.changes if row.metric.name == "throughput")
    assert row.change is not None
    assert tuple(math.isfinite(end) for end in (row.change.low, row.change.high)) == ends
    assert row.verdict is verdict
    assert [one.outcome for one in compared.judged] == [outcome]


def test_a_change_between_two_lower_bounds_is_withheld_with_the_reason(
    tmp_path: Path, capsys: Captured
) -> None:
    a = flooded(tmp_path / "a", HIGH, "generator-limited")
    b = flooded(tmp_path / "b", LOW, "link-limited", seed=2)
    assert main(["compare", str(a.directory), str(b.directory), "--fail-on", "throughput<-5%"]) == 5
    shown = " ".join(capsys.readouterr().out.split())
    assert "withheld: A at the generator's ceiling and B at the link's rate" in shown
    assert "≥100" in shown
    assert "≥60" in shown
    assert "−40" not in shown


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


def test_a_bound_that_is_no_number_is_null_in_json(tmp_path: Path, capsys: Captured) -> None:
    before = made(tmp_path / "a", {"raw": [1e-150, 1e-100]})
    assert gate(before, made(tmp_path / "b", {"raw": [1e-150, 100.0]}), "throughput<-5%", "--json") == 5
    document = json.loads(capsys.readouterr().out)
    change = next(change for change in document["changes"] if change["metric"] == "throughput")
    assert change["change"]["high"] is None and change["change"]["low"] is not None


def test_help_lists_every_exit_status(capsys: Captured) -> None:
    assert main(["compare", "--help"]) == 0
    text = capsys.readouterr().out
    listed = text[text.index("Exit status:") : text.index("Arguments:")]
    assert [line.split()[0] for line in listed.splitlines()[1:] if line.strip()] == ["0", "2", "3", "4", "5"]
