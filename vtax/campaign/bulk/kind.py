"""Kind `bulk` of a campaign: streams to, from or through guests, each with a peer of its own, or between two."""

from functools import partial

from vtax.campaign.bulk.judge import judge
from vtax.campaign.bulk.rows import headline, record
from vtax.campaign.bulk.trial import measure
from vtax.campaign.ends import EndsPath
from vtax.campaign.ends_kind import EndsKind
from vtax.campaign.guest import is_broken
from vtax.campaign.kind import Finished
from vtax.platforms import Probe
from vtax.scenario import Cell
from vtax.testbed.guest_state import GuestState
from vtax.testbed.pair import Placement


class Kind(EndsKind):
    """See vtax.campaign.kind.Kind."""

    def placement(self, cell: Cell) -> Placement | None:
        """None where far ends are bare."""
        work = cell.bulk
        return None if work.has_bare_peers else work.placement

    def measure(
        self, path: EndsPath, cell: Cell, number: int, guests: dict[str, GuestState], probe: Probe
    ) -> Finished:
        """As the transport goes."""
        measured = measure(path, cell, number, guests, emulated=probe.emulated)
        return Finished.of(measured, partial(judge, emulated=probe.emulated), headline, is_broken, record)
