"""Agents that lie in campaigns of this kind: the breach names guest, method and field."""

import pytest

from tests.helpers.play import Played, assert_breach, changed
from tests.helpers.played_machines import Lie


@pytest.mark.parametrize(
    ("lie", "reason"),
    [
        (
            changed("echo.collect", received=10**6),
            "echo.collect with what cannot be true (received: 1000000 of",
        ),
    ],
)
def test_a_breach_names_the_guest_the_method_and_the_field(lie: Lie, reason: str, play: Played) -> None:
    outcome, _ = play("echo", lie)
    assert_breach(outcome, reason)
