"""Streams of data: guests that share a link, and goodput by the length of messages."""

from __future__ import annotations

from vtax.documents.base import Count, Estimate, Part, Share
from vtax.documents.show.published import PublishedSharing
from vtax.documents.show.rows import Keyed, Mbps, WithGuests


class Goodput(WithGuests):
    """Layer-4 payload that arrived from, or at, the guests."""

    aggregate_mbps: Estimate
    """R aggregate (anhalt2009): that of all guests."""
    fair_share_mbps: Estimate
    """R aggregate / N."""
    by_guest_mbps: dict[str, Estimate]
    """R i, by the guest's number from 0."""
    link_mbps: Mbps | None
    """Goodput of a full link; null where that is not known."""
    of_link: Estimate | None
    """Aggregate as a share of that."""
    far_end_busy: bool
    """True where in some trial the CPU of the far ends had no time left."""
    recorded: Count
    """Recorded trials."""
    invalid: Count
    """Invalid trials among them."""
    suspect: Count
    """Suspect trials among them."""


class Efficiency(WithGuests):
    """E throughput (anhalt2009): the aggregate goodput as a share of the reference's with one guest."""

    emulated: bool
    """True where the platform's CPU is emulated."""
    reference: str
    """Platform that it is compared with."""
    efficiency: Estimate | None
    """The ratio; null where there is none."""
    problem: str | None
    """Reason why there is none, or why it is withheld."""


class Scaling(WithGuests):
    """Change of a platform from one guest to several."""

    aggregate_ratio: Estimate | None
    """Ratio of the aggregate goodputs."""
    host_percent: Estimate | None
    """CPU time added on the CPUs of host and guests, in percentage points, 100 = one CPU."""
    left_out: Share
    """Share of the trials of both sides that were invalid and so left out, 0 to 1."""


class Fairness(WithGuests):
    """Jain's index over the guests, 1 / N to 1."""

    goodput: Estimate | None
    """Index of goodput."""
    cpu: Estimate | None
    """Index of CPU time."""


class GuestCpu(WithGuests):
    """CPU time with so many guests, in percent, 100 = one CPU."""

    host_percent: Estimate | None
    """C aggregate (anhalt2009): busy time of the CPUs that host and guests run on."""
    guest_percent: Estimate | None
    """Mean of the guests' CPU time."""
    by_guest_percent: dict[str, Estimate]
    """C i, by the guest's number from 0."""
    busy_percent: Estimate | None
    """Busy time of the whole machine in the CPU ledger."""
    by_account: dict[str, Estimate]
    """The same by account: the domain, and of guests their number."""
    left_out: Share
    """Share of the recorded trials that were invalid and so left out, 0 to 1."""


class RoundTrip(WithGuests):
    """TCP's smoothed round trip at the end of a trial, under load."""

    by_guest_ns: dict[str, Estimate]
    """Round trip by the guest's number from 0."""


class Sharing(Part):
    """Guests that share a link and a host; all lists are empty for other workloads."""

    goodput: list[Goodput]
    """Goodput by number of guests."""
    efficiency: list[Efficiency]
    """Efficiency by number of guests."""
    scaling: list[Scaling]
    """Changes against one guest."""
    fairness: list[Fairness]
    """Fairness by number of guests."""
    cpu: list[GuestCpu]
    """CPU time by number of guests."""
    round_trips: list[RoundTrip]
    """Round trips by number of guests."""
    published: list[PublishedSharing]
    """Numbers of the paper that the scenario repeats."""


class MessageGoodput(Keyed):
    """Goodput between two ends by the length of messages."""

    message_bytes: Count | None
    """Length of a message; null for the transport's default."""
    goodput_mbps: Estimate
    """Goodput."""
    deviation_mbps: float | None
    """Standard deviation of the repetitions."""
    link_mbps: Mbps | None
    """Goodput of a full link; null where that is not known."""
    of_link: Estimate | None
    """Goodput as a share of that."""
    reference: str | None
    """Platform that it is compared with; null for the reference itself."""
    ratio: Estimate | None
    """Ratio to the reference's goodput in the same blocks; null where that was not measured."""
    retransmissions: Estimate | None
    """Retransmitted segments of a trial."""
    send_buffer_bytes: Estimate | None
    """Send buffer in force, with the kernel's bookkeeping."""
    receive_buffer_bytes: Estimate | None
    """Receive buffer in force, likewise."""
    host_percent: Estimate | None
    """Busy time of the CPUs of host and guests, in percent, 100 = one CPU."""
