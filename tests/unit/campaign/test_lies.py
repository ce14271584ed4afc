"""Campaigns whose agents lie: recorded answers, changed at random, are decoded, judged, written and shown."""

import json
import re
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_type_hints

import msgspec
import pytest
from hypothesis import settings

from tests.helpers.lies import Liar
from tests.helpers.memory import at_most_kb_more
from tests.helpers.played_kinds import ANSWERS, KINDS, scenario
from tests.helpers.played_machines import OPEN, TRIAL, Lie, Player, in_phases
from tests.helpers.tolerance import tolerate
from vtax import campaign, views
from vtax.agent_api import AgentApi
from vtax.agent_message import Nothing
from vtax.campaign import Outcome
from vtax.results import Result
from vtax.scenario import load_scenario
from vtax.trial import window_trial

REPETITIONS = 30
RATES = (0.02, 0.05, 0.15)
"""How many of the answers are lies: with few of them trials come to their end, with many paths do not open."""
MOST_MEMORY_KB = 300_000
WANTED = 13 * settings.default.max_examples // 10
LONGEST_S = 60.0
"""How long a campaign may take on a busy machine: without sleep a trial takes 30 ms."""


class Watcher:
    """Counts what campaigns report."""

    def __init__(self) -> None:
        self.verdicts: dict[int, str] = {}
        self.trial = 0
        """The number of the one that is measured now, or was last."""
        self.breaches: dict[int, list[str]] = {}
        """The trials in which agents broke the contract, with the methods whose answers did."""

    def campaign(self, name: str, trials: int | None, directory: Path) -> None:
        """It begins."""

    def note(self, text: str) -> None:
        """Something happened."""
        assert text

    def trial_started(self, number: int, cell_key: str) -> None:
        """It begins."""
        self.trial = number

    def trial_finished(self, number: int, verdict: str, headline: str) -> None:
        """It ended."""
        self.verdicts[number] = verdict

    def finished(self) -> None:
        """It has ended."""


def breaks_contract(method: str, answer: object) -> bool:
    """Whether an answer is not of its method's type, or has a value beyond its bound."""
    answer_type = get_type_hints(getattr(AgentApi, method.replace(".", "_")))["return"]
    try:
        msgspec.json.decode(json.dumps(answer), type=Nothing if answer_type is type(None) else answer_type)
    except msgspec.ValidationError:
        return True
    return False


Played = Callable[..., tuple[Outcome, Watcher]]


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Played]:
    """Play a recorded campaign whose agents lie, without waiting; returns how it ended."""
    tolerate(monkeypatch.setattr)
    no_sleep = SimpleNamespace(sleep=lambda _: None, monotonic=time.monotonic)
    monkeypatch.setattr(window_trial, "time", no_sleep)
    number = iter(range(1_000_000))

    def played(
        kind: str, lie: Lie, repetitions: int = 1, phases: Collection[str] = (TRIAL,)
    ) -> tuple[Outcome, Watcher]:
        directory = tmp_path / f"{next(number)}"
        directory.mkdir()
        asked = load_scenario(str(scenario(kind, directory, repetitions)))
        machines = Player(ANSWERS / f"{kind}.jsonl", lambda method, answer: answer)
        watcher = Watcher()

        def told(method: str, answer: Any) -> Any:
            if machines.phase not in phases:
                return answer
            said = lie(method, answer)
            if machines.is_measuring and said != answer and breaks_contract(method, said):
                watcher.breaches.setdefault(watcher.trial, []).append(method)
            return said

        machines.lie = told
        with pytest.MonkeyPatch.context() as patch:
            in_phases(machines, patch)
            begun = time.monotonic()
            outcome = campaign.run(
                asked,
                out=directory / "out",
                seed=1,
                machines=machines,
                progress=watcher,
                allow={"programs"},
            )
            assert time.monotonic() - begun < LONGEST_S
        return outcome, watcher

    yield played


def trials_of(outcome: Outcome) -> list[dict[str, Any]]:
    return (
        Result.open(outcome.directory)
        .query("SELECT trial_id, verdict, reasons FROM trials ORDER BY 1")
        .to_pylist()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_recorded_is_a_campaign(kind: str, play: Played) -> None:
    outcome, watcher = play(kind, lambda method, answer: answer, 2)
    assert outcome.exit_status == 0
    assert set(watcher.verdicts.values()) <= {"valid", "suspect"}


@pytest.fixture
def _little_memory() -> Iterator[None]:
    with at_most_kb_more(MOST_MEMORY_KB + 2 * WANTED):
        yield


@pytest.mark.slow
@pytest.mark.fuzz
@pytest.mark.usefixtures("_little_memory")
@pytest.mark.parametrize("kind", KINDS)
def test_no_lie_ends_a_campaign(kind: str, play: Played) -> None:
    """A thousand lies in all; each trial is committed and shown, or its path is built anew."""
    told = campaigns = 0
    while told < WANTED:
        liar, rate = Liar(campaigns), RATES[campaigns % len(RATES)]

        def lie(method: str, answer: Any, liar: Liar = liar, rate: float = rate) -> Any:
            return liar.lie(answer) if liar.chance.random() < rate else answer

        outcome, watcher = play(kind, lie, REPETITIONS, (OPEN, TRIAL))
        assert outcome.exit_status in (0, 3)
        trials = trials_of(outcome)
        assert [trial["trial_id"] for trial in trials] == [*watcher.verdicts]
        for trial in trials:
            assert trial["verdict"] != "invalid" or trial["reasons"], trial
            if breached := watcher.breaches.get(trial["trial_id"]):
                assert trial["verdict"] == "invalid", (breached, trial)
                assert re.search("answered .* with what|contradict each other", trial["reasons"][0]), trial
        views.as_json(Result.open(outcome.directory))
        told, campaigns = told + liar.told, campaigns + 1


def changed(method: str, **fields: Any) -> Lie:
    """Has one method's answers say something else in some fields."""
    return lambda asked, answer: {**answer, **fields} if asked == method else answer


@pytest.mark.parametrize(
    ("kind", "lie", "reason"),
    [
        (
            "relay",
            changed("relay.samples", ns=[]),
            "guest: answered relay.samples with what cannot be true (ns: none",
        ),
        (
            "relay",
            changed("relay.samples", iterations=10**6),
            "guest: answered relay.samples with what cannot be true (ns: 1000000 in all, of at most 20)",
        ),
        ("relay", changed("relay.samples", ns=[1] * 1500), "(ns: 1500 of 20)"),
        ("relay", changed("relay.samples", undone=[[20, "timeout"]]), "(undone: iteration 20 of 20)"),
        ("relay", changed("relay.samples", ns=[2**62] * 20), "relay.samples with what cannot be true (ns: "),
        (
            "relay",
            changed("relay.go", end_ns=1),
            "answered relay.go with what cannot be true (end_ns: 1 is before",
        ),
        (
            "program",
            changed("client.samples", ns=[]),
            "client.samples with what cannot be true (ns: none after 0",
        ),
        ("program", changed("client.collect", samples=19), "(samples: 19, and client.samples has 20)"),
        (
            "bulk",
            changed("receiver.series", bytes=[]),
            "peer0: answered receiver.series with what cannot be true",
        ),
        ("bulk", changed("receiver.series", steps=2**40), "(bytes: 1099511627776 in all, of at most "),
        (
            "bulk",
            changed("sender.collect", flows=[]),
            "guest: answered sender.collect with what cannot be true (flows",
        ),
        (
            "echo",
            changed("echo.collect", received=10**6),
            "echo.collect with what cannot be true (received: 1000000 of",
        ),
        (
            "requests",
            changed("cpu.read", entries=10**9),
            "cpu.read with what cannot be true (samples: 1000000000",
        ),
        (
            "requests",
            changed("requester.collect", transactions=2**63),
            "what is not of its type (Expected `int` <=",
        ),
        (
            "forwarding",
            changed("sink.capture", frames=[]),
            "sink: answered sink.capture with what cannot be true",
        ),
        ("forwarding", changed("source.run", streams=[]), "source.run"),
        (
            "forwarding-traced",
            changed("stages.collect", stages=[]),
            "stages.collect with what cannot be true (stages",
        ),
    ],
)
def test_a_breach_names_the_guest_the_method_and_the_field(
    kind: str, lie: Lie, reason: str, play: Played
) -> None:
    outcome, _ = play(kind, lie)
    assert outcome.exit_status == 3
    trials = trials_of(outcome)
    assert trials
    assert {trial["verdict"] for trial in trials} == {"invalid"}
    assert reason in trials[0]["reasons"][0]


def test_numbers_that_make_no_sense_together_make_a_trial_invalid(play: Played) -> None:
    """Each answer may be true: only the histogram has other values than the answer counts."""

    def lie(method: str, answer: Any) -> Any:
        if method != "echo.collect":
            return answer
        return {**answer, "latency": {**answer["latency"], "count": answer["latency"]["count"] + 1}}

    outcome, _ = play("echo", lie)
    for trial in trials_of(outcome):
        assert trial["verdict"] == "invalid"
        assert "answers of guest0, guest1 or of the instrument's agents" in trial["reasons"][0]
        assert "histogram of 40 values, and count 41" in trial["reasons"][0]
