"""Kind `relay`: a small message goes round a ring of relays, and each of its rounds is timed."""

from collections.abc import Iterator
from typing import Annotated, Literal

from vtax.agent_api import (
    GREATEST_RELAY_BYTES,
    LEAST_RELAY_BYTES,
    LONGEST_INTERVAL_MS,
    MOST_ITERATIONS,
    MOST_RELAYS,
)
from vtax.keys.fields import Scalar, key
from vtax.keys.testbed import TestbedSettings
from vtax.keys.workload import Refusal, WorkloadKeys

SEGMENT_HEADERS_BYTES = 100
"""Of TCP and IP with options, and more: what is this much shorter than the mtu stays one segment."""


class Relay(WorkloadKeys):
    """Rounds of a message through 1 to 8 relays, and the null tests of their loop (matthews2009, 2 to 4)."""

    kind: Annotated[
        Literal["relay"], key("a message goes round a ring of relays; each round is timed", "relay")
    ]
    hops: int = key(
        "relays of the ring, the master among them",
        f"1 to {MOST_RELAYS}",
        default=1,
        ge=1,
        le=MOST_RELAYS,
        short=True,
        unit="relays",
        laid_for=True,
    )
    placement: Literal["one-guest", "guest-each"] = key(
        "whether all relays are in one guest, or each is in a guest of its own",
        "one-guest, guest-each",
        default="one-guest",
        short=True,
        unit="",
        laid_for=True,
    )
    iterations: int = key(
        "rounds of a run",
        f"1 to {MOST_ITERATIONS}",
        default=10_000,
        ge=1,
        le=MOST_ITERATIONS,
        short=True,
        unit="rounds",
    )
    runs: int = key(
        "runs in a row, each a trial of its own",
        "1 to 1000",
        default=50,
        ge=1,
        le=1000,
        short=True,
    )
    load: Literal["network", "nothing", "output", "lines"] = key(
        "what is timed: the message's round, nothing, or a line on standard output, which the C library hands to the "
        "kernel with 4096 bytes (output) or at once (lines)",
        "network, nothing, output, lines",
        default="network",
        short=True,
        unit="",
    )
    transport: Literal["tcp", "udp"] = key(
        "the protocol that carries messages",
        "tcp, udp",
        default="tcp",
        short=True,
        unit="",
    )
    connection: Literal["fresh", "persistent"] = key(
        "whether each message has connections of its own, or all of a run share them",
        "fresh, persistent",
        default="fresh",
        short=True,
        unit="",
    )
    message_bytes: int = key(
        "length of the message, or of the line with its newline",
        f"{LEAST_RELAY_BYTES} to {GREATEST_RELAY_BYTES}, at most testbed.mtu - {SEGMENT_HEADERS_BYTES}",
        default=LEAST_RELAY_BYTES,
        ge=LEAST_RELAY_BYTES,
        le=GREATEST_RELAY_BYTES,
        short=True,
        unit="byte",
    )
    interval_ms: float = key(
        "from the start of one round to that of the next; 0: each as soon as the one before is over",
        f"0 to {LONGEST_INTERVAL_MS}",
        default=0.0,
        ge=0,
        le=LONGEST_INTERVAL_MS,
        short=True,
        unit="ms",
    )
    pinned: bool = key(
        "whether each relay stays on one CPU, in turn, or is wherever the scheduler has it",
        "true, false",
        default=False,
    )

    def asked(self) -> dict[str, Scalar | None]:
        """Return its keys, with null for transport and connection where no message goes round."""
        carried = {} if self.load == "network" else {"transport": None, "connection": None}
        return {**super().asked(), **carried}

    @property
    def guests_forward(self) -> bool:
        """They are end hosts."""
        return False

    @property
    def trials_in_a_row(self) -> int:
        """A run is a trial, so that none is lost with another."""
        return self.runs

    @property
    def is_in_one_guest(self) -> bool:
        """Whether one guest has all relays: that of a ring of one, wherever it is placed."""
        return self.placement == "one-guest" or self.hops == 1 or self.load != "network"

    @property
    def own_guests(self) -> int:
        """One, or one a relay."""
        return 1 if self.is_in_one_guest else self.hops

    def refusals(self, testbed: TestbedSettings) -> Iterator[Refusal]:
        """Links that others share, and messages that are longer than a segment."""
        if testbed.is_shared:
            problem = "the guests of relay workloads are behind one bridge of their host; allowed: dedicated"
            yield Refusal("testbed", "uplink", testbed.uplink, problem)
        if testbed.has_neighbours:
            problem = "relay workloads have no neighbours; allowed: none"
            yield Refusal("testbed", "neighbours", testbed.neighbours, problem)
        if testbed.link_mbps is not None:
            problem = "relays meet within a guest or at a bridge, and there is no link; allowed: unlimited"
            yield Refusal("testbed", "link_mbps", testbed.link_mbps, problem)
        if testbed.cap_mbps is not None:
            problem = "the guests of relay workloads have no cap; allowed: none"
            yield Refusal("testbed", "cap_mbps", testbed.cap_mbps, problem)
        most = testbed.mtu - SEGMENT_HEADERS_BYTES
        if self.message_bytes > most:
            problem = (
                f"{self.message_bytes} may not stay one segment with mtu {testbed.mtu}; "
                f"allowed: {LEAST_RELAY_BYTES} to {most}"
            )
            yield Refusal("workload", "message_bytes", self.message_bytes, problem)
        if self.load != "network" and self.hops > 1:
            problem = f"{self.hops} relays are a network; allowed with load {self.load}: 1"
            yield Refusal("workload", "hops", self.hops, problem)
