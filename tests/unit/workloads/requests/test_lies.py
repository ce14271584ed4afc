"""Agents that lie in campaigns of this kind: the breach names guest, method and field."""

import re
from typing import Any

import pytest

from tests.helpers.play import Played, assert_breach, changed, trials_of
from tests.helpers.played_machines import Lie


@pytest.mark.parametrize(
    ("lie", "reason"),
    [
        (changed("cpu.read", entries=10**9), "cpu.read with what cannot be true (samples: 1000000000"),
        (changed("requester.collect", transactions=2**63), "what is not of its type (Expected `int` <="),
    ],
)
def test_a_breach_names_the_guest_the_method_and_the_field(lie: Lie, reason: str, play: Played) -> None:
    outcome, _ = play("requests", lie)
    assert_breach(outcome, reason)


def test_numbers_that_make_no_sense_together_make_a_trial_invalid(play: Played) -> None:
    """Each answer may be true: only the histogram has other values than the answer counts."""

    def lie(method: str, answer: Any) -> Any:
        if method != "requester.collect":
            return answer
        return {**answer, "latency": {**answer["latency"], "count": answer["latency"]["count"] + 1}}

    outcome, _ = play("requests", lie)
    trials = trials_of(outcome)
    assert trials
    for trial in trials:
        assert trial["verdict"] == "invalid"
        assert "answers of guest0, guest1 or of the instrument's agents" in trial["reasons"][0]
        told = re.search(r"histogram of (\d+) values, and count (\d+)", trial["reasons"][0])
        assert told is not None
        assert int(told[2]) == int(told[1]) + 1
