"""Campaigns whose agents lie: recorded answers, changed on their way, are decoded, judged, written and shown."""

import json
import time
from collections.abc import Callable, Collection
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_type_hints

import msgspec
import pytest

from tests.helpers.played_kinds import ANSWERS, scenario
from tests.helpers.played_machines import TRIAL, Lie, Player, in_phases
from tests.helpers.tolerance import judge_mildly
from vtax import campaign
from vtax.agent_api import AgentApi
from vtax.agent_message import Nothing
from vtax.campaign import Outcome
from vtax.results import Result
from vtax.scenario import load_scenario
from vtax.trial import window_trial

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

    def standing(self, text: str) -> None:
        """It is so far."""
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


def playing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    """Play a recorded campaign whose agents lie, without waiting; returns how it ended."""
    judge_mildly(monkeypatch.setattr)
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

    return played


def trials_of(outcome: Outcome) -> list[dict[str, Any]]:
    return (
        Result.open(outcome.directory)
        .query("SELECT trial_id, verdict, reasons FROM trials ORDER BY 1")
        .to_pylist()
    )


def changed(method: str, **fields: Any) -> Lie:
    """Has one method's answers say something else in some fields."""
    return lambda asked, answer: {**answer, **fields} if asked == method else answer


def assert_breach(outcome: Outcome, reason: str) -> None:
    """Hold that no trial is usable, and that each names the answer that was wrong."""
    assert outcome.exit_status == 3
    trials = trials_of(outcome)
    assert trials
    assert {trial["verdict"] for trial in trials} == {"invalid"}
    assert all(reason in trial["reasons"][0] for trial in trials)
