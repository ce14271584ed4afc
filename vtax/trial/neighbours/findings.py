"""What a neighbour's load says against a trial."""

from vtax.testbed.guest import NEIGHBOUR
from vtax.trial.verdict import Finding, Verdict

MISSED_SUSPECT = 0.02
"""A neighbour that was offered so much less than was intended, or more."""


def missed(guest: int, offered_mbps: float, intended_mbps: float) -> list[Finding]:
    """A finding where a neighbour was offered another load than was intended."""
    off = abs(offered_mbps / intended_mbps - 1)
    if off <= MISSED_SUSPECT:
        return []
    words = f"{NEIGHBOUR}{guest} was offered {offered_mbps:.1f} of {intended_mbps:.1f} Mbit/s"
    return [(Verdict.SUSPECT, words)]
