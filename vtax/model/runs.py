"""Runs of iterations that are timed one by one: what cells of them vary in, and in what they are compared."""

from __future__ import annotations

from collections.abc import Sequence

from vtax.model.answers import UNANSWERED, unanswered_limits
from vtax.model.cell import Reading
from vtax.model.levels import Levels, Setting
from vtax.model.metrics import LATENCY_P50, LATENCY_P99, LOSS, RESPONSE_TIME

LADDER = ("nothing", "output", "lines", "network", "program")
"""What is timed, each with more in it than the one before (matthews2009, section 3.1), and what is the user's own."""


class RunLevels(Levels, frozen=True):
    """What cells of one setting have in common. `transport` and `connection` are of a network only.

    Of programs only `placement` and the name of the `server` are known, which relays have none of.
    """

    load: str
    hops: int | None
    placement: str
    transport: str | None
    connection: str | None
    message_bytes: int | None
    interval_ms: float | None
    server: str | None = None

    @property
    def rung(self) -> str:
        """What is timed, in words."""
        if self.load == "nothing":
            return "nothing timed"
        if self.load == "program":
            return f"{self.server}, {self.placement}"
        if self.load != "network":
            how = "one by one" if self.load == "lines" else "4096 bytes at once"
            return f"{self.message_bytes}-byte lines written, {how}"
        hops = "1 hop" if self.hops == 1 else f"{self.hops} hops"
        return f"{hops}, {self.connection} {(self.transport or '').upper()}"

    @property
    def phrases(self) -> Sequence[str]:
        """What is timed; of a network where it is and how long messages are; how often."""
        placed = [] if self.load != "network" else [f"{self.placement}, {self.message_bytes}-byte messages"]
        paced = [f"every {self.interval_ms:g} ms"] if self.interval_ms else []
        return (self.rung, *placed, *paced)

    @property
    def rank(self) -> tuple[int, tuple[str, ...], tuple[float, ...], int]:
        """By what is timed, the ladder upwards, and then by hops."""
        own = (self.server or "", self.placement, self.transport or "", self.connection or "")
        numbers = (self.message_bytes or 0, self.interval_ms or 0)
        return LADDER.index(self.load), own, numbers, self.hops or 0


def run_levels(setting: Setting) -> RunLevels:
    """Return a setting's levels, which are those of runs."""
    return setting.of(RunLevels)


RUNS = Reading(RunLevels, asides=(UNANSWERED,), limits=unanswered_limits)
COMPARED = (RESPONSE_TIME, LATENCY_P50, LATENCY_P99, LOSS)
"""Of a run's iterations. Runs of one block follow one another, and so count together."""
