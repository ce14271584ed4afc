"""Where a trial's frames were lost: received less forwarded at every hop of a stream's way.

Each hop forwards what the next one receives, so that the hops' drops add up to all that was lost. Counters are read
before and after a trial; they take in all its phases, and whatever else went the same way.
"""

from vtax.trial.frames.measured import Measured
from vtax.workloads.forwarding.measure.counts import Counts, Hop
from vtax.workloads.forwarding.measure.dedicated_way import DedicatedWay
from vtax.workloads.forwarding.measure.shared_way import SharedWay

Way = DedicatedWay | SharedWay
"""The streams' way on a testbed. It knows which interfaces they pass."""


def way_of(measured: Measured) -> Way:
    """The way that a trial's frames took."""
    return SharedWay(measured) if measured.cell.testbed.is_shared else DedicatedWay(measured)


def hops(measured: Measured) -> list[Hop]:
    """The hops of every stream that sent, in the order of its way; none where the counters were not read."""
    return [] if measured.interfaces is None else list(way_of(measured).hops(Counts.of(measured)))
