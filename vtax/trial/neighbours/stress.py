"""Neighbours that load their CPU, or CPU and memory, as `stress` does in schlosser2011 (section 3.4)."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from vtax.agent_api import StressOpenParams
from vtax.machine.agent import AgentGone
from vtax.testbed.guest import PlacedGuest
from vtax.testbed.testbed import Testbed
from vtax.trial.beside import Beside, Neighbours, Turn
from vtax.trial.closing import close_all
from vtax.trial.verdict import Finding, Verdict

MEMORY_BYTES = 256 << 20
"""What a memory worker takes, writes and gives back: the default of `stress`."""
OPENED_S = 30.0
"""A guest under load takes its time to answer."""


@dataclass(frozen=True)
class Load:
    """How many workers of each kind a neighbour has, and the memory that it needs for them."""

    cpu_workers: int
    memory_workers: int
    guest_bytes: int = 0

    @property
    def params(self) -> StressOpenParams:
        """What `stress.open` is asked."""
        return StressOpenParams(
            cpu_workers=self.cpu_workers, memory_workers=self.memory_workers, memory_bytes=MEMORY_BYTES
        )


LOADS = {"light": Load(1, 0), "heavy": Load(8, 4, 1536 << 20)}
"""By the behaviour's name."""


class Stress(Neighbours):
    """They are at work from before a trial until after it."""

    def __init__(self, site: Testbed, load: Load) -> None:
        super().__init__(site)
        self._load = load

    def open(self, turn: Turn) -> None:
        """Have all of them work."""
        for guest in self.guests:
            guest.api.stress_open(self._load.params, OPENED_S)
            guest.api.stress_go(OPENED_S)

    def collect(self) -> Beside:
        """Have all of them rest."""
        return Beside(findings=[finding for guest in self.guests for finding in _collected(guest)])

    def close(self) -> None:
        """No worker is left."""
        close_all(partial(guest.api.stress_close, OPENED_S) for guest in self.guests)


def _collected(guest: PlacedGuest) -> Iterator[Finding]:
    try:
        done = guest.api.stress_collect(OPENED_S)
    except AgentGone:
        return  # how it stands tells why
    if done.aborted:
        yield Verdict.INVALID, f"the load of {guest.name} was aborted"
    for worker in done.workers:
        if worker.problem:
            yield Verdict.INVALID, f"a {worker.kind} worker of {guest.name} gave up: {worker.problem}"
