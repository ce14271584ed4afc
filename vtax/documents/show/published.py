"""Numbers that the repeated paper prints of its own hardware: no ratio is formed with them."""

from __future__ import annotations

from vtax.documents.base import Part


class Published(Part):
    """A row of what a paper prints, and where."""

    hardware: str
    """Hardware of the paper."""
    section: str
    """Section of the paper."""
    source: str
    """The paper."""


class PublishedRate(Published):
    """Rate and loss of routers behind one uplink, as a paper prints them; empty where it prints none."""

    setup: str
    """Platform or set-up of the paper."""
    guests: str
    """Number of routers."""
    packet_bytes: str
    """Length of IP packets."""
    frame_bytes: str
    """Length of the frames that carry them."""
    packets_per_s: str
    """Packets a second of a router."""
    loss_percent: str
    """Share that is lost, percent."""


class PublishedStress(Published):
    """The change of the maximum by a neighbour's load, as a paper prints it."""

    setup: str
    """Platform or set-up of the paper."""
    frame_bytes: str
    """Length of frames."""
    neighbour: str
    """Behaviour of the neighbour."""
    change_percent: str
    """Change, percent."""


class PublishedTraffic(Published):
    """Offered and received load of a neighbour, as a paper prints them."""

    setup: str
    """Platform or set-up of the paper."""
    frame_bytes: str
    """Length of frames."""
    load_percent: str
    """Load of the neighbour, percent of its maximum."""
    offered_mbps: str
    """Offered load."""
    received_mbps: str
    """Throughput."""


class PublishedSharing(Published):
    """A number of guests that share a link, as a paper prints it."""

    direction: str
    """Direction of the streams."""
    transport: str
    """Their transport."""
    guests: str
    """Number of guests, or a range."""
    quantity: str
    """The quantity."""
    text: str
    """The number as it is printed."""
    unit: str
    """Its unit."""
    setup: str
    """Platform or set-up of the paper."""


class PublishedGoodput(Published):
    """Goodput by the length of messages, as a paper prints it."""

    placement: str
    """Placement of the ends."""
    transport: str
    """Transport."""
    buffers: str
    """Buffers of the sockets."""
    messages: str
    """Lengths of messages."""
    quantity: str
    """The quantity."""
    text: str
    """The number as it is printed."""
    setup: str
    """Platform or set-up of the paper."""


class PublishedRounds(Published):
    """Times of rounds as a paper prints them."""

    platform: str
    """Platform of the paper."""
    mean_us: str
    """Mean, µs."""
    stddev_us: str
    """Standard deviation, µs."""
    min_us: str
    """Shortest, µs."""
    max_us: str
    """Longest, µs."""


class PublishedStage(Published):
    """A stage in the text of a paper."""

    stage: str
    """The stage."""
    guests: str
    """Number of guests."""
    finding: str
    """Finding of the paper in words."""
    setup: str
    """Platform or set-up of the paper."""


class PublishedMoment(Part):
    """A packet at a function, as the paper prints it; times are exact to 10 µs."""

    direction: str
    """Direction of the packet."""
    function: str
    """Function of the kernel."""
    stage: str
    """Stage that ends there."""
    since_ns: float
    """Time since it was first seen."""
    took_ns: float
    """Time since the function before."""
