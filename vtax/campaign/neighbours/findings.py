"""What a neighbour's load says against a trial."""

from typing import Any

from vtax.campaign.verdict import Finding, Verdict
from vtax.testbed.guest import NEIGHBOUR

MISSED_SUSPECT = 0.02
"""A neighbour that was offered so much less than was intended, or more."""


def missed(flow: dict[str, Any]) -> list[Finding]:
    """A finding where a neighbour's flow was offered another load than was intended."""
    intended, offered = flow["intended_mbps"], flow["offered_mbps"]
    off = abs(offered / intended - 1)
    if off <= MISSED_SUSPECT:
        return []
    words = f"{NEIGHBOUR}{flow['guest']} was offered {offered:.1f} of {intended:.1f} Mbit/s"
    return [(Verdict.SUSPECT, words)]
