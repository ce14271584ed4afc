"""How far campaigns lie apart though nothing changed: from earlier ones or assumed, and where each is said."""

import html
import json
import math
from pathlib import Path
from shutil import copytree
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats

from tests.helpers.comparisons import STEADY, copies, made, scaled, steady, verdicts
from tests.helpers.json_schema import broken
from tests.helpers.results.builder import make
from vtax.cli import main
from vtax.documents.schema import document_schema
from vtax.results import Result
from vtax.views.compare import CampaignEffect, ChangeVerdict, compare, parse_rules, read_earlier, read_side

Captured = pytest.CaptureFixture[str]
HOURS = [1.0, 1.08, 0.95, 0.99, 1.04, 0.91]


def hours(directory: Path, factors: list[float] = HOURS) -> Path:
    """Make campaigns in each of which raw is faster by such a factor than in another, and the container is not."""
    for number, factor in enumerate(factors):
        made(
            directory / f"run-{number}",
            {"raw": scaled(factor), "container": STEADY},
            created_at=f"2026-01-{number + 1:02}T00:00:00+00:00",
        )
    return directory


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Result, Result]:
    """Two campaigns, raw of which differs by a tenth."""
    return (
        made(tmp_path / "a", {"raw": STEADY, "container": STEADY}),
        made(tmp_path / "b", {"raw": scaled(0.9), "container": STEADY}),
    )


def test_campaigns_that_differ_as_much_as_before_have_not_changed(
    sides: tuple[Result, Result], tmp_path: Path
) -> None:
    a, b = map(read_side, sides)
    without = compare(a, b, within=0.05)
    assert verdicts(without, "throughput")["raw"] is ChangeVerdict.WORSE
    effect = read_earlier(hours(tmp_path / "earlier"), a, b)
    found = compare(a, b, within=0.05, effect=effect)
    assert verdicts(found, "throughput") == {"raw": ChangeVerdict.UNKNOWN, "container": ChangeVerdict.SAME}
    (change,) = [
        change.change
        for change in found.changes
        if change.metric.name == "throughput" and change.cell.startswith("platform=raw")
    ]
    reach = stats.t.ppf(0.975, 5) * math.sqrt(2) * np.std(np.log(HOURS), ddof=1)
    assert change is not None
    assert (change.low, change.high) == pytest.approx(
        (math.expm1(math.log(0.9) - reach - 0.001), math.expm1(math.log(0.9) + reach + 0.001))
    )


def test_a_and_b_and_copies_are_no_earlier_campaigns(tmp_path: Path) -> None:
    directory = hours(tmp_path / "all", [*HOURS, 1.01])
    copytree(directory / "run-3", directory / "once-more")
    a, b = (read_side(Result.open(directory / f"run-{number}")) for number in (0, 6))
    effect = read_earlier(directory, a, b)
    assert (effect.campaigns, effect.unread, effect.means) == (5, 1, {})


def test_campaigns_of_other_settings_are_no_earlier_ones(
    sides: tuple[Result, Result], tmp_path: Path, capsys: Captured
) -> None:
    for number in range(6):
        make(
            tmp_path / f"others/{number}",
            steady("raw"),
            created_at=f"2026-01-0{number + 1}T00:00:00+00:00",
            scenario={"workload": {"kind": "forwarding", "duration_s": 9}},
        )
    directories = [str(side.directory) for side in sides]
    assert main(["compare", *directories, "--earlier", str(tmp_path / "others")]) == 2
    assert "has no other campaign with the machine, accelerator and settings of" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["B", "--earlier", "nowhere"], "--earlier: nowhere: no such directory"),
        (["--by", "platform", "--earlier", "."], "leave out --earlier, or --by"),
    ],
)
def test_what_earlier_refuses(
    options: list[str], said: str, sides: tuple[Result, Result], capsys: Captured
) -> None:
    words = [str(sides[1].directory) if word == "B" else word for word in options]
    assert main(["compare", str(sides[0].directory), *words]) == 2
    assert said in capsys.readouterr().err


def test_without_earlier_campaigns_an_effect_is_assumed_and_said_to_be(
    sides: tuple[Result, Result], tmp_path: Path, capsys: Captured
) -> None:
    words = ["compare", *(str(side.directory) for side in sides), "--fail-on", "throughput<-5%"]
    line = "campaign effect: a standard deviation of 10% is assumed; --earlier DIR takes it from 6 campaigns or more"
    assert main(words) == 5
    text = " ".join(capsys.readouterr().out.split())
    assert line in text and "and vtax ab SCENARIO --factor platform=A,B measures both sides by turns" in text
    assert (
        "the interval crosses the limit; the campaign effect is assumed; smallest detectable change" in text
    )
    assert "rules: 0 broken, 2 undecided, 0 passed" in text
    assert main([*words, "--markdown"]) == 5
    assert line in html.unescape(capsys.readouterr().out).replace("\\", "")
    junit = tmp_path / "junit.xml"
    assert main([*words, "--json", "--junit", str(junit)]) == 5
    document = json.loads(capsys.readouterr().out)
    assert broken(document, document_schema("compare")) == [] and document["earlier"] is None
    effects = {
        change["metric"]: change["campaign_effect"]
        for change in document["changes"]
        if "raw" in change["cell"]
    }
    assert effects["throughput"] == {"deviation": pytest.approx(0.1), "campaigns": None}
    suite = ElementTree.parse(junit).getroot()  # noqa: S314, written here
    (told,) = suite.findall("properties/property")
    assert told.get("name") == "campaign effect" and "is assumed" in (told.get("value") or "")
    assert int(suite.get("tests", 0)) == len(document["changes"])


def test_earlier_campaigns_are_named_with_their_number(
    sides: tuple[Result, Result], tmp_path: Path, capsys: Captured
) -> None:
    earlier = copies(sides[0], tmp_path / "earlier")
    words = ["compare", *(str(side.directory) for side in sides), "--earlier", str(earlier)]
    assert main([*words, "--fail-on", "throughput<-5%"]) == 4
    assert f"campaign effect: from 6 campaigns below {earlier}" in " ".join(capsys.readouterr().out.split())
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["earlier"] == {"directory": str(earlier), "campaigns": 6, "not_read": 0}
    assert {change["campaign_effect"]["campaigns"] for change in document["changes"]} == {6}


def test_what_too_few_earlier_campaigns_have_is_assumed(
    sides: tuple[Result, Result], tmp_path: Path, capsys: Captured
) -> None:
    earlier = copies(sides[0], tmp_path / "earlier", 5)
    words = ["compare", *(str(side.directory) for side in sides), "--earlier", str(earlier)]
    assert main(words) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert (
        f"campaign effect: 5 campaigns below {earlier} do not suffice: a standard deviation of 10% is" in text
    )


def test_what_cannot_be_compared_has_no_campaign_effect(tmp_path: Path) -> None:
    a, b = (read_side(made(tmp_path / name, {"raw": [100.0]})) for name in "ab")
    found = compare(a, b, within=0.05, effect=CampaignEffect())
    assert {change.scatter for change in found.changes} == {None}


def test_two_levels_of_one_campaign_have_no_campaign_effect(
    sides: tuple[Result, Result], capsys: Captured
) -> None:
    words = ["compare", str(sides[0].directory), "--by", "platform"]
    assert main(words) == 0
    assert "campaign effect" not in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["earlier"] is None
    assert {change["campaign_effect"] for change in document["changes"]} == {None}


@pytest.mark.parametrize(
    ("lost", "deviation"), [((0.0, 0.004), 0.005), ((0.0, 0.08), 0.1 * math.sqrt((1 + 0.92**2) / 2))]
)
def test_losses_vary_by_what_arrives_unless_both_campaigns_carried_the_load(
    lost: tuple[float, float], deviation: float, tmp_path: Path
) -> None:
    a, b = (
        read_side(made(tmp_path / name, {"raw": [200.0 * (1 - share)] * 3}))
        for name, share in zip("ab", lost, strict=True)
    )
    found = compare(a, b, within=0.05, effect=CampaignEffect())
    (loss,) = [change for change in found.changes if change.metric.name == "loss"]
    assert loss.scatter is not None and loss.scatter.deviation == pytest.approx(deviation)
    assert loss.verdict is ChangeVerdict.UNKNOWN
    assert loss.note == "assumed campaign effect"


def test_a_change_larger_than_the_assumed_effect_is_found(tmp_path: Path) -> None:
    a, b = (
        read_side(made(tmp_path / name, {"raw": scaled(factor)})) for name, factor in (("a", 1), ("b", 0.5))
    )
    found = compare(a, b, within=0.05, rules=parse_rules("throughput<-5%"), effect=CampaignEffect())
    assert verdicts(found, "throughput") == {"raw": ChangeVerdict.WORSE}
    assert [str(one.outcome) for one in found.judged] == ["broken"]
    # Half of what was sent is lost: 10% of what arrives is assumed on each side.
    (loss,) = [change for change in found.changes if change.metric.name == "loss"]
    assert loss.scatter is not None and loss.scatter.deviation == pytest.approx(
        0.1 * math.sqrt((0.5**2 + 0.25**2) / 2), rel=0.01
    )
