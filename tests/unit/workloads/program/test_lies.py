"""Agents that lie in campaigns of this kind: the breach names guest, method and field."""

import pytest

from tests.helpers.play import Played, assert_breach, changed
from tests.helpers.played_machines import Lie


@pytest.mark.parametrize(
    ("lie", "reason"),
    [
        (changed("client.samples", ns=[]), "client.samples with what cannot be true (ns: none after 0"),
        (changed("client.collect", samples=19), "(samples: 19, and client.samples has 20)"),
    ],
)
def test_a_breach_names_the_guest_the_method_and_the_field(lie: Lie, reason: str, play: Played) -> None:
    outcome, _ = play("program", lie)
    assert_breach(outcome, reason)
