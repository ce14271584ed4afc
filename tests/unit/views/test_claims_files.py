"""The papers' claims as files: all load, wrong ones are refused by line; and every form that verdicts are shown in."""

import html
import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.json_schema import broken
from tests.helpers.paths import ROOT
from tests.helpers.results.builder import of
from tests.helpers.results.papers import HARMED, STEADY, beside, forwarded
from vtax.cli import main
from vtax.documents.schema import document_schema
from vtax.inputs import InputError
from vtax.results import Result
from vtax.scenario import list_scenarios, load_scenario
from vtax.scenario.grid import text
from vtax.views import as_json, write_report
from vtax.views.claims.checks import Difference, Ratio
from vtax.views.claims.describe import describe_all
from vtax.views.claims.load import load_claims, papers, read_claims

DOCUMENT = ROOT / "docs" / "claims.md"
BEGIN, END = (
    "<!-- claims: what `python -m vtax.views.claims.describe` prints -->\n",
    "<!-- end of claims -->\n",
)
LEAST = {"schlosser2011": 8, "anhalt2009": 8, "matthews2009": 5, "oljira2016": 6}
CLAIM = """\
harm:
  says: A neighbour takes throughput away.
  where: "5"
  scenarios: [neighbour-traffic]
  test: {kind: ratio, metric: maximum_mbps, of: {neighbours: forward}, over: {neighbours: idle}, below: 0.95}
"""
Captured = pytest.CaptureFixture[str]


def test_every_paper_has_its_claims() -> None:
    """Each names scenarios, quantities and factors that there are: loading refuses what is not."""
    assert {paper: len(load_claims(paper)) >= least for paper, least in LEAST.items()} == dict.fromkeys(
        LEAST, True
    )
    assert set(papers()) == set(LEAST)
    assert not any(scenario.name.endswith("claims") for scenario in list_scenarios())


def test_a_claims_levels_are_its_scenarios_own() -> None:
    """A level that no scenario of the claim has could never be measured."""
    offered = {
        scenario.name: {
            factor.column: set(map(text, factor.values)) for factor in load_scenario(scenario.name).factors
        }
        for scenario in list_scenarios()
    }
    for claim in (claim for paper in papers() for claim in load_claims(paper)):
        test = claim.file.test
        sides = [getattr(test, name) for name in ("of", "over") if isinstance(test, Ratio | Difference)]
        for name, levels in (item for picked in (test.at, *sides) for item in picked.items()):
            known = [offered[scenario][name] for scenario in claim.scenarios if name in offered[scenario]]
            named = {text(level) for level in (levels if isinstance(levels, list) else [levels])}
            assert not known or named <= set.union(*known), (claim.full_name, name)


def test_docs_hold_the_claims() -> None:
    inside = DOCUMENT.read_text().split(BEGIN)[1].split(END)[0]
    assert inside.strip() == describe_all().strip(), (
        "put what `python -m vtax.views.claims.describe` prints there"
    )


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("[neighbour-traffic]", "[neighbour-trafic]", 'no scenario "schlosser2011/neighbour-trafic"'),
        ("[neighbour-traffic]", "[]", "scenarios"),
        ("maximum_mbps", "maximal_mbps", 'has no quantity "maximal_mbps"; did you mean "maximum_mbps"?'),
        ("maximum_mbps", "goodput_mbps", 'has no quantity "goodput_mbps"'),
        ("{neighbours: idle}", "{neighbors: idle}", 'unknown factor "neighbors"'),
        ("{neighbours: idle}", "{message_bytes: 64}", "forwarding workloads have no such key"),
        ("kind: ratio", "kind: difference", "maximum_mbps has ratios alone"),
        ("kind: ratio", "kind: quotient", "allowed: ratio, difference, bound, trend, share, artifact"),
        (", below: 0.95", "", "has no limit for its number"),
        ("below: 0.95", "below: 1, above: 2", "nothing is above 2 and below 1"),
        ("below: 0.95", "below: low", "number"),
        ("over: {neighbours: idle}, ", "", 'key "over" is missing'),
        ("over: {neighbours: idle}", "over: {}", "over"),
        ('"5"', '"5"\n  platforms: some', '"some" is no group of platforms'),
        ('"5"', '"5"\n  sais: x', '"sais"'),
        ("harm:", "Harm Done:", "not a name"),
    ],
)
def test_a_wrong_claim_is_refused_by_line(old: str, new: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "claims.yaml"
    assert old in CLAIM
    path.write_text(CLAIM)
    assert [claim.name for claim in read_claims(path, "schlosser2011")] == ["harm"]
    path.write_text(CLAIM.replace(old, new))
    with pytest.raises(InputError) as refused:
        read_claims(path, "schlosser2011")
    assert problem in str(refused.value)
    assert str(refused.value).startswith(f"{path}:")


HOSTILE = "<img src=x>|[red]`*"


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A container that is harmed, an emulated platform that is not, and one with a hostile name."""
    platforms = (("container", HARMED, False), ("qemu-virtio", STEADY, True), (HOSTILE, HARMED, False))
    cells = [
        beside(behaviour, rates if behaviour == "forward" else STEADY, name, emulated=emulated)
        for name, rates, emulated in platforms
        for behaviour in ("idle", "forward")
    ]
    return forwarded(tmp_path_factory.mktemp("claims") / "r", *cells)


def test_the_terminal_says_verdict_effect_and_n(result: Result, capsys: Captured) -> None:
    assert main(["claims", str(result.directory)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "container holds here 0.500 [" in printed
    beside_it = printed.split("qemu-virtio", 1)[1][:90]
    assert {"does", "not", "hold,", "emulated", "CPU", "1.000"} <= set(beside_it.split())
    assert "heavy-load-slows-containers" in printed, "what another scenario would tell is named"
    assert "schlosser2011/neighbour-stress" in printed
    assert printed.endswith(
        "2 holds here, 0 does not hold, 0 undecided, 14 not measured; on an emulated CPU: 1 does not hold"
    )


def test_json_has_every_effect(result: Result, capsys: Captured) -> None:
    assert main(["claims", str(result.directory), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert broken(document, document_schema("claims")) == []
    (found,) = [each for each in document["claims"] if each["claim"] == "small-frames-beside-harm"]
    told: dict[str, Any] = {each["platform"]: each for each in found["platforms"]}
    assert (told["qemu-virtio"]["verdict"], told["qemu-virtio"]["emulated"]) == ("does not hold", True)
    (effect,) = told["container"]["effects"]
    assert effect["estimate"]["high"] < found["below"] == 0.95
    assert (effect["estimate"]["n"], effect["estimate"]["bound"]) == (5, "exact")
    assert (document["verdicts"]["does not hold"], document["emulated_verdicts"]["does not hold"]) == (0, 1)
    shown = as_json(result)["claims"]
    assert [each["claim"] for each in shown] == [
        "small-frames-beside-harm",
        "bare-host-bears-small-frames-beside",
    ]


def test_markdown_and_report_escape_what_a_result_says(result: Result, capsys: Captured) -> None:
    assert main(["claims", str(result.directory), "--markdown"]) == 0
    markdown = capsys.readouterr().out
    assert "| container | holds here | 0.500 \\[" in markdown
    page = write_report(result).read_text()
    assert "Findings of the paper on this machine" in page
    assert "does not hold, emulated CPU" in page
    assert html.escape(HOSTILE) in page
    assert HOSTILE not in page and "<img" not in markdown


def test_two_results_of_one_scenario_are_told_apart(result: Result, tmp_path: Path, capsys: Captured) -> None:
    other = forwarded(tmp_path / "other", beside("idle", STEADY), beside("forward", STEADY))
    assert main(["claims", str(result.directory), str(other.directory), "--markdown"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("schlosser2011/small-frames-beside-harm") == 2
    assert str(other.directory) in printed.replace("\\", "")


def test_a_campaign_that_has_not_ended_is_said_to(tmp_path: Path, capsys: Captured) -> None:
    result = forwarded(tmp_path / "r", beside("idle", STEADY), beside("forward", HARMED), status="running")
    assert main(["claims", str(result.directory), "--json"]) == 0
    (remark,) = json.loads(capsys.readouterr().out)["notes"]
    assert remark.startswith(f"{result.directory}: cut short, ")


def test_a_result_of_no_paper_is_refused(tmp_path: Path, capsys: Captured) -> None:
    own = forwarded(tmp_path / "own", beside("idle", STEADY), scenario_keys={"source": None})
    assert main(["claims", str(own.directory)]) == 2
    assert "does not reproduce a paper with claims" in capsys.readouterr().err
    assert main(["claims", str(own.directory), "--json", "--markdown"]) == 2
    assert as_json(own)["claims"] == []
    renamed = forwarded(
        tmp_path / "renamed", beside("idle", STEADY), scenario_keys=of("schlosser2011", "own")
    )
    assert main(["claims", str(renamed.directory)]) == 0
    assert "0 holds here, 0 does not hold, 0 undecided, 15 not measured" in " ".join(
        capsys.readouterr().out.split()
    )
