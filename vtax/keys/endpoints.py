"""What kinds of workload have in common whose ends talk to each other over a transport."""

from collections.abc import Iterator
from typing import Literal

from vtax.keys.fields import key
from vtax.keys.testbed import TestbedSettings
from vtax.keys.workload import Refusal, TimedKeys, samples_key

Transport = Literal["tcp", "udp", "sctp"]
Placement = Literal["guest-to-peer", "inter-host", "intra-host"]
GUEST_TO_PEER: Placement = "guest-to-peer"
INTRA_HOST: Placement = "intra-host"


class EndpointKeys(TimedKeys):
    """Their keys; what `transport` and `placement` are to a kind, it says itself."""

    cpu_samples_hz: int = samples_key(499)
    transport: Transport
    placement: Placement
    no_delay: bool = key("whether small messages go at once (tcp, sctp)", "true, false", default=False)

    @property
    def protocols(self) -> tuple[str, ...]:
        """SCTP is a module."""
        return ("sctp",) if self.transport == "sctp" else ()

    @property
    def has_bare_peers(self) -> bool:
        """Whether far ends are bare hosts; else they are guests."""
        return self.placement == GUEST_TO_PEER

    @property
    def own_guests(self) -> int | None:
        """Both ends of a host's own are guests."""
        return 2 if self.placement == INTRA_HOST else None

    @property
    def far_protocols(self) -> tuple[str, ...]:
        """Bare peers have sockets of their kernel's as well; guests are looked at as such."""
        return self.protocols if self.has_bare_peers else ()

    def refusals(self, testbed: TestbedSettings) -> Iterator[Refusal]:
        """What the transport does not take."""
        if self.no_delay and self.transport == "udp":
            yield Refusal("workload", "no_delay", self.no_delay, "udp never waits; allowed: false")
        yield from super().refusals(testbed)
