"""Requests of a campaign: response times between a guest and whoever asks it."""

from vtax.keys.cell import Cell
from vtax.testbed.pair import BURST_FRAMES, Placement
from vtax.trial.endpoint_workload import EndpointWorkload
from vtax.workloads.requests.keys import Requests
from vtax.workloads.requests.measure.trial import RequestsTrial


class RequestsWorkload(EndpointWorkload):
    """Requests as fast as answers come, or as often as the rate says."""

    burst_frames = BURST_FRAMES
    trial = RequestsTrial

    def placement(self, cell: Cell) -> Placement | None:
        """As the cell says; None of guests behind one link."""
        return None if cell.testbed.is_shared else cell.of(Requests).placement
