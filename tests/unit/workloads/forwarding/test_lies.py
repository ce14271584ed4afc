"""Agents that lie in campaigns of this kind: the breach names guest, method and field."""

import pytest

from tests.helpers.play import Played, assert_breach, changed
from tests.helpers.played_machines import Lie


@pytest.mark.parametrize(
    ("played", "lie", "reason"),
    [
        (
            "forwarding",
            changed("sink.capture", frames=[]),
            "sink: answered sink.capture with what cannot be true",
        ),
        ("forwarding", changed("source.run", streams=[]), "source.run"),
        (
            "forwarding",
            changed("canary.read", readings=[]),
            "canary.read with what cannot be true (readings: of CPUs []",
        ),
        (
            "forwarding-traced",
            changed("stages.collect", stages=[]),
            "stages.collect with what cannot be true (stages",
        ),
    ],
)
def test_a_breach_names_the_guest_the_method_and_the_field(
    played: str, lie: Lie, reason: str, play: Played
) -> None:
    outcome, _ = play(played, lie)
    assert_breach(outcome, reason)
