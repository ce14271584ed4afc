"""What neighbours did, and what they changed."""

from __future__ import annotations

from vtax.documents.base import Estimate, Part, Share


class Interference(Part):
    """A metric of a guest beside busy neighbours, as a ratio to that beside idle ones or none."""

    platform: str
    """Platform preset."""
    metric: str
    """The metric."""
    victim: str
    """Workload of the guest, with its setting."""
    aggressor: str
    """Behaviour of its neighbours."""
    reference: str
    """Neighbours of the other side: idle or none."""
    ratio: Estimate
    """The ratio."""
    bound_reason: str
    """Side of the ratio that is only a bound, and what bounded it; empty where none is."""


class NeighbourLoad(Part):
    """Means over the neighbours of a cell; null where their kind of traffic has no such number."""

    platform: str
    """Platform preset."""
    cell: str
    """Factors of the cell without its platform; all where there is no other."""
    offered_mbps: Estimate | None
    """Offered load at layer 1."""
    received_mbps: Estimate | None
    """Throughput at layer 1."""
    goodput_mbps: Estimate | None
    """Goodput."""
    latency_mean_ns: Estimate | None
    """Mean response time."""
    maximum_mbps: Estimate | None
    """Throughput while the guest is idle, by which its load is set."""
    left_out: Share
    """Share of the recorded trials that were invalid and so left out, 0 to 1."""
