"""Runs of client programs with chosen numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tests.helpers.results.builder import Row, small
from tests.helpers.results.runs import FIGURES, MadeRounds, run_a_block


@dataclass(frozen=True)
class MadeProgram(MadeRounds):
    """A run of a client program."""

    SCENARIO: ClassVar = {"workload": {"kind": "program"}, "figures": FIGURES}
    KEY: ClassVar[Sequence[str]] = ("placement",)

    placement: str = "inside"

    def columns(self) -> Row:
        return {"run": self.run, "load": "program", "server": "lighttpd"}


RESULT = small(run_a_block(MadeProgram), "matthews2009", "http")
