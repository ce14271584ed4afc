"""Bulk streams of a campaign: to, from or through guests, each with a peer of its own, or between two."""

from vtax.keys.cell import Cell
from vtax.testbed.pair import Placement
from vtax.trial.endpoint_workload import EndpointWorkload
from vtax.workloads.bulk.keys import Bulk
from vtax.workloads.bulk.measure.trial import BulkTrial


class BulkWorkload(EndpointWorkload):
    """Streams as the transport goes."""

    trial = BulkTrial

    def placement(self, cell: Cell) -> Placement | None:
        """None where far ends are bare."""
        work = cell.of(Bulk)
        return None if work.has_bare_peers else work.placement
