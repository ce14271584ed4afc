"""CPUs that were not as fast all the time, by the fixed work around trials."""

from __future__ import annotations

from collections.abc import Sequence

from vtax.views.caveats.caveat import Caveat
from vtax.views.speeds import Speed

DRIFT = 1.05
"""How many times as long the same work may take in a campaign's last third as in its first, or the other way round."""
STEADY = 1.1
"""The same of the slowest tenth of readings and the fastest."""


def drifted(speeds: Sequence[Speed]) -> list[Caveat]:
    """A machine that became slower or faster in the course of a campaign."""
    return [
        Caveat(
            f"CPU {speed.cpu} of {speed.host} changed its speed",
            f"The same arithmetic took {speed.drift:.2f} times as long in the last third of the campaign as in the "
            "first. Compare within blocks only.",
        )
        for speed in speeds
        if speed.drift and not 1 / DRIFT <= speed.drift <= DRIFT
    ]


def shared(speeds: Sequence[Speed]) -> list[Caveat]:
    """Cores that serve others below this machine: what fills a core is slowed, what waits for results is not."""
    slowed = [
        speed
        for speed in speeds
        if (speed.parallel or 0) > STEADY and speed.chain and speed.chain <= STEADY and speed.frame
    ]
    if not slowed:
        return []
    worst = max(slowed, key=lambda speed: speed.frame or 0)
    return [
        Caveat(
            "Cores serve other machines",
            f"From one moment to the next, frames through the kernel took up to {worst.frame:.1f} times as long on CPU "
            f"{worst.cpu} of {worst.host}, without steal. Trials of one cell differ for this reason alone.",
        )
    ]
