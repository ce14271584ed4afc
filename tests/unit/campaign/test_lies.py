"""Campaigns whose agents lie: recorded answers, changed at random, are decoded, judged, written and shown."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from tests.helpers.lies import Liar
from tests.helpers.memory import at_most_kb_more
from tests.helpers.play import Played, trials_of
from tests.helpers.played_kinds import KINDS
from tests.helpers.played_machines import OPEN, TRIAL
from vtax import views
from vtax.results import Result

REPETITIONS = 30
RATES = (0.02, 0.05, 0.15)
"""How many of the answers are lies: with few of them trials come to their end, with many paths do not open."""
MOST_MEMORY_KB = 300_000
WANTED = 13 * settings.default.max_examples // 10


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
