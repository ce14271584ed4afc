"""Kind `requests` of a campaign: response times between a guest and whoever asks it."""

from vtax.campaign.ends import EndsPath
from vtax.campaign.ends_kind import EndsKind
from vtax.campaign.guest import is_broken
from vtax.campaign.kind import Finished
from vtax.campaign.requests.judge import judge
from vtax.campaign.requests.rows import headline, record
from vtax.campaign.requests.trial import measure
from vtax.platforms import Probe
from vtax.scenario import Cell
from vtax.testbed.guest_state import GuestState
from vtax.testbed.pair import BURST_FRAMES, Placement


class Kind(EndsKind):
    """See vtax.campaign.kind.Kind."""

    burst_frames = BURST_FRAMES

    def placement(self, cell: Cell) -> Placement | None:
        """As the cell says; None of guests behind one link."""
        return None if cell.testbed.is_shared else cell.requests.placement

    def measure(
        self, path: EndsPath, cell: Cell, number: int, guests: dict[str, GuestState], probe: Probe
    ) -> Finished:
        """As fast as answers come, or as often as the rate says."""
        measured = measure(path, cell, number, guests, emulated=probe.emulated)
        return Finished.of(measured, judge, headline, is_broken, record)
