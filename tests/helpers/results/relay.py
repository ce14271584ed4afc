"""Runs of relays with chosen numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tests.helpers.results.builder import Row, small
from tests.helpers.results.runs import FIGURES, MadeRounds, run_a_block


@dataclass(frozen=True)
class MadeRun(MadeRounds):
    """One run of a relay."""

    SCENARIO: ClassVar = {"workload": {"kind": "relay"}, "figures": FIGURES}
    KEY: ClassVar[Sequence[str]] = ("hops", "load")

    hops: int = 1
    load: str = "network"

    def columns(self) -> Row:
        sends = self.load == "network"
        return {
            "run": self.run,
            "placement": "one-guest",
            "transport": "tcp" if sends else None,
            "connection": "fresh" if sends else None,
            "message_bytes": 4,
            "interval_ms": 0.0,
        }


RESULT = small(run_a_block(MadeRun), "matthews2009", "relay")
