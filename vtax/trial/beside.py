"""What a path has of neighbours: they are built with it, and do their part in each of its trials."""

from collections.abc import Sequence
from dataclasses import dataclass

from vtax.keys.cell import Cell
from vtax.results import Row
from vtax.testbed.guest import PlacedGuest
from vtax.testbed.host import Host
from vtax.testbed.testbed import Testbed
from vtax.trial.verdict import Finding


@dataclass(frozen=True)
class Beside:
    """What neighbours did in a trial."""

    flows: Sequence[Row] = ()
    """Rows of `flows`."""
    findings: Sequence[Finding] = ()
    maximum_mbps: float | None = None
    """What each of them forwarded in the mean with the guest idle, layer 1; None where nobody asked."""
    source_share: float = 0.0
    """What their source took of the CPU that it shares with the guest's."""


@dataclass(frozen=True)
class Turn:
    """The trial that neighbours have a part in."""

    trial: int
    cell: Cell
    emulated: bool


class Neighbours:
    """Neighbours that rest, or none at all. Whoever does more overrides what it does more."""

    def __init__(self, site: Testbed | None = None) -> None:
        self.site = site

    @property
    def hosts(self) -> tuple[Host, ...]:
        """Hosts that are there for them alone."""
        return self.site.hosts if self.site else ()

    @property
    def guests(self) -> list[PlacedGuest]:
        """The neighbours as guests."""
        return self.site.guests if self.site else []

    def build(self) -> None:
        """Make their links and far ends, once the testbed is built."""
        if self.site:
            self.site.build()

    def ready(self) -> None:
        """Wait until they can do their part, once they are started; raises PathFailed, AgentGone, AgentError."""

    def open(self, turn: Turn) -> None:
        """Prepare for a trial; raises AgentGone, AgentError."""

    def go(self, begin: float) -> None:
        """Begin at a moment of the host's clock, or as soon after it as can be."""

    def collect(self) -> Beside:
        """End, and tell what was done. A neighbour that died is a finding."""
        return Beside()

    def close(self) -> None:
        """Take back what `open` did, whatever state that is in."""

    def take_down(self) -> None:
        """Take down the hosts that are there for them alone."""
        if self.site:
            self.site.close()
