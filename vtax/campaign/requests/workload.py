"""Requests of a campaign: response times between a guest and whoever asks it."""

from vtax.campaign.ends_workload import EndsWorkload
from vtax.campaign.requests.trial import RequestsTrial
from vtax.keys.cell import Cell
from vtax.testbed.pair import BURST_FRAMES, Placement
from vtax.workloads.requests.keys import Requests


class RequestsWorkload(EndsWorkload):
    """Requests as fast as answers come, or as often as the rate says."""

    burst_frames = BURST_FRAMES
    trial = RequestsTrial

    def placement(self, cell: Cell) -> Placement | None:
        """As the cell says; None of guests behind one link."""
        return None if cell.testbed.is_shared else cell.of(Requests).placement
