"""Agents that lie in campaigns of this kind: the breach names guest, method and field."""

import pytest

from tests.helpers.play import Played, assert_breach, changed
from tests.helpers.played_machines import Lie


@pytest.mark.parametrize(
    ("lie", "reason"),
    [
        (changed("relay.samples", ns=[]), "guest: answered relay.samples with what cannot be true (ns: none"),
        (
            changed("relay.samples", iterations=10**6),
            "guest: answered relay.samples with what cannot be true (ns: 1000000 in all, of at most 20)",
        ),
        (changed("relay.samples", ns=[1] * 1500), "(ns: 1500 of 20)"),
        (changed("relay.samples", undone=[[20, "timeout"]]), "(undone: iteration 20 of 20)"),
        (changed("relay.samples", ns=[2**62] * 20), "relay.samples with what cannot be true (ns: "),
        (changed("relay.go", end_ns=1), "answered relay.go with what cannot be true (end_ns: 1 is before"),
    ],
)
def test_a_breach_names_the_guest_the_method_and_the_field(lie: Lie, reason: str, play: Played) -> None:
    outcome, _ = play("relay", lie)
    assert_breach(outcome, reason)
