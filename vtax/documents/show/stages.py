"""Traced packets: delay by stage, and each packet hook by hook."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from vtax.documents.base import Count, Estimate
from vtax.documents.show.rows import Keyed, Placed


class TracedCell(Keyed):
    """The traced trials of a cell."""

    recorded: Count
    """Recorded trials."""
    invalid: Count
    """Invalid trials among them."""
    suspect: Count
    """Suspect trials among them."""
    packets: Count
    """Packets that were followed to their end."""
    strayed: Count
    """Packets that passed no whole path: dropped, or gone elsewhere."""
    lost: Count
    """Packets whose marks another packet's overwrote."""
    hook_ns: float | None
    """Time that a hook itself takes."""
    added_ns: Estimate | None
    """Median delay or response time that tracing adds."""


class StageDelay(Keyed):
    """The delay of a stage of a host in one direction."""

    host: str | None
    """The host; null of unattributed."""
    direction: str
    """Direction of the packets."""
    stage: str
    """The stage; total for all, unattributed for what none of them has."""
    position: Count | None
    """Place among the stages; null of total and unattributed."""
    packets: Count
    """Packets behind it."""
    mean_ns: Estimate
    """Mean delay."""
    p50_ns: Estimate | None
    """Median of a typical repetition."""
    p90_ns: Estimate | None
    """Its quantile of 90%."""
    p99_ns: Estimate | None
    """Its quantile of 99%."""
    curve: list[Annotated[list[float], Field(min_length=2, max_length=2)]]
    """Delays in ns, each with the share of packets that took no longer."""


class PacketMoment(Placed):
    """A followed packet at a hook."""

    host: str | None
    """The host; null for a path over several."""
    path: str
    """Path of the packet."""
    packet: int
    """Number of the packet."""
    position: Count
    """Place of the hook on the path."""
    function: str
    """Function of the kernel that it was seen at."""
    interface: str
    """Interface that it was on."""
    stage: str | None
    """Stage that ends there; null at the first hook."""
    since_ns: int
    """Time since it was first seen."""
    took_ns: int
    """Time since the hook before."""
