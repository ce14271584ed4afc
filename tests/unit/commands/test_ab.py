"""`vtax ab` without a campaign: its input, its output by what a campaign left, and its exit status."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vtax.campaign
from tests.helpers.json_schema import broken
from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import Made
from vtax.campaign import Outcome
from vtax.cli import main
from vtax.documents.schema import document_schema
from vtax.scenario import Scenario, load_scenario

Captured = pytest.CaptureFixture[str]
TYPED = ["ab", "quick", "--factor", "platform=raw,container", "--fail-on", "throughput<-5%"]


@dataclass
class Campaign:
    """Stands in for a campaign: a platform carries this share of the bare host's rate, in so many blocks."""

    directory: Path
    share: float | None = 1.0
    blocks: int = 16
    scenarios: list[Scenario] = field(default_factory=list)

    def run(self, scenario: Scenario, **options: Any) -> Outcome:
        self.scenarios.append(scenario)
        assert scenario.file.ab is not None
        drawn = np.random.default_rng(35)
        shares = {"raw": 1.0} if self.share is None else {"raw": 1.0, "container": self.share}
        trials = [
            Made(name, block, received_mbps=100 * share * rate, offered_mbps=200.0)
            for name, share in shares.items()
            for block, rate in enumerate(1 + 0.004 * drawn.standard_normal(self.blocks))
        ]
        make(self.directory, trials, scenario={"ab": scenario.file.ab.model_dump()})
        return Outcome(self.directory, [] if self.share else [("platform=container", "it did not start")])


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Campaign:
    stand_in = Campaign(tmp_path / "r")
    monkeypatch.setattr(vtax.campaign, "run", stand_in.run)
    return stand_in


@pytest.mark.parametrize(
    ("share", "blocks", "status", "says"),
    [
        (1.0, 16, 0, "0 broken, 0 undecided, 1 passed"),
        (0.9, 16, 4, "1 broken, 0 undecided, 0 passed"),
        (0.9, 4, 5, "n = 2: too few values for an interval"),
        (None, 4, 3, "it did not start"),
    ],
)
def test_its_status_is_what_was_found(
    share: float | None, blocks: int, status: int, says: str, campaign: Campaign, capsys: Captured
) -> None:
    campaign.share, campaign.blocks = share, blocks
    assert main(TYPED) == status
    printed = capsys.readouterr()
    assert says in " ".join((printed.out + printed.err).split())


def test_a_cell_that_was_not_measured_is_not_passed(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    def run(scenario: Scenario, **options: Any) -> Outcome:
        return Outcome(
            campaign.run(scenario).directory, [("platform=raw frame_bytes=1500", "it did not start")]
        )

    monkeypatch.setattr(vtax.campaign, "run", run)
    assert main(TYPED) == 5
    assert "it did not start" in capsys.readouterr().err


def test_a_complete_result_is_not_judged_by_rules_that_it_was_not_measured_for(
    tmp_path: Path, capsys: Captured
) -> None:
    stored = load_scenario("quick").by_turns("platform=raw,container", "throughput<-50%", 1000, 60.0)
    trials = [Made(name, block, frame_bytes=64) for name in ("raw", "container") for block in range(6)]
    result = make(tmp_path / "r", trials, **stored.described())
    assert main([*TYPED, "--budget", "1m", "--resume", str(result.directory)]) == 2
    said = capsys.readouterr().err
    assert "the campaign is complete, and it has other settings (ab.fail_on: " in said
    assert f"vtax compare {result.directory} --by FACTOR --fail-on RULES" in said


def test_its_document_fits_its_schema(campaign: Campaign, capsys: Captured) -> None:
    for share, status in ((0.9, 4), (None, 3)):
        campaign.share, campaign.directory = share, campaign.directory / f"{status}"
        assert main([*TYPED, "--json"]) == status
        document = json.loads(capsys.readouterr().out)
        assert broken(document, document_schema("ab")) == []
        assert (document["comparison"] is None) == (share is None)


def test_it_prints_markdown_and_writes_junit(campaign: Campaign, tmp_path: Path, capsys: Captured) -> None:
    campaign.share = 0.9
    assert main([*TYPED, "--markdown", "--junit", str(tmp_path / "ab.xml")]) == 4
    assert capsys.readouterr().out.startswith("**1 broken, 0 undecided, 0 passed**")
    assert 'type="broken"' in (tmp_path / "ab.xml").read_text()


def test_the_options_reach_the_scenario(campaign: Campaign) -> None:
    assert main([*TYPED, "--budget", "90s", "--set", "frame_bytes=64"]) == 0
    (chosen,) = campaign.scenarios
    assert chosen.file.ab is not None and chosen.file.ab.budget_s == 90
    assert {cell.platform for cell in chosen.cells()} == {"raw", "container"}


def test_a_fixed_number_of_quads_reaches_the_scenario_and_its_rules_decide(
    campaign: Campaign, capsys: Captured
) -> None:
    campaign.share = 0.9
    assert main([*TYPED, "--fixed", "5", "--fail-on", "throughput<-20%"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "0 broken, 0 undecided, 1 passed" in printed
    assert "Brackets are 95% intervals, n is quads of both" in printed
    (chosen,) = campaign.scenarios
    assert chosen.file.ab is not None
    assert (chosen.file.ab.fixed, chosen.file.ab.budget_s, chosen.repetitions) == (True, None, 10)
    assert chosen.trials == 10 * len(chosen.cells())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--budget", "soon"], "--budget: 'soon' is no time; one is a number with s, m or h, as in 30m"),
        (["--budget", "0m"], "--budget: '0m' is no time"),
        (["--budget", "1m", "--fixed", "5"], "whatever time they take; leave out --budget, or --fixed"),
        (["--fixed", "1"], "'--fixed': \"1\" is too small; allowed: at least 2"),
        (["--fail-on", "goodput<-5%"], "do not measure goodput"),
        (["--fail-on", "throughput-5%"], "is no rule"),
        (["--factor", "platform=raw"], "--factor platform=raw: two levels are measured by turns"),
        (["--factor", "platform=raw,contaner"], 'did you mean "container"?'),
        (["--factor", "frame_bytes"], "as in --factor platform=raw,container"),
        (["--json", "--markdown"], "leave out one"),
        (["--junit", "none/ab.xml"], "mkdir -p none"),
        (["--junit", "/"], "--junit: / is a directory; name a file"),
        (["--platform", "lxc,raw"], "platform is already set by --platform lxc,raw"),
        (["--resume", "none", "--seed", "1"], "a resumed campaign keeps its own settings; leave out --seed"),
    ],
)
def test_bad_input_starts_nothing(words: list[str], says: str, capsys: Captured, tmp_path: Path) -> None:
    typed = {word: value for word, value in zip(TYPED[2::2], TYPED[3::2], strict=True) if word not in words}
    given = [part for pair in typed.items() for part in pair]
    out = [] if "--resume" in words else ["--out", str(tmp_path / "none")]
    assert main(["ab", "quick", *given, *words, *out]) == 2
    assert says in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
