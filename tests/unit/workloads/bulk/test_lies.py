"""Agents that lie in campaigns of this kind: the breach names guest, method and field."""

import pytest

from tests.helpers.play import Played, assert_breach, changed
from tests.helpers.played_machines import Lie


@pytest.mark.parametrize(
    ("lie", "reason"),
    [
        (changed("receiver.series", bytes=[]), "peer0: answered receiver.series with what cannot be true"),
        (changed("receiver.series", steps=2**40), "(bytes: 1099511627776 in all, of at most "),
        (
            changed("sender.collect", flows=[]),
            "guest: answered sender.collect with what cannot be true (flows",
        ),
    ],
)
def test_a_breach_names_the_guest_the_method_and_the_field(lie: Lie, reason: str, play: Played) -> None:
    outcome, _ = play("bulk", lie)
    assert_breach(outcome, reason)
