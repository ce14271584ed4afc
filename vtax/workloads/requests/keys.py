"""Kind `requests`: one end asks and the other answers, a request at a time."""

from collections.abc import Iterator
from typing import Annotated, Literal

from vtax.agent_api import GREATEST_DATAGRAM_BYTES, GREATEST_MESSAGE_BYTES, GREATEST_RPS, SocketOptions
from vtax.keys.endpoints import GUEST_TO_PEER, EndpointKeys, Placement, Transport
from vtax.keys.exchange import ExchangeSpec
from vtax.keys.fields import Named, Scalar, key, written
from vtax.keys.testbed import TestbedSettings
from vtax.keys.traced import TracedKeys
from vtax.keys.workload import Refusal

EQUAL = "equal"


class Requests(EndpointKeys, TracedKeys):
    """Response times over message size, between hosts and inside one (oljira2016, III.B); of several guests at once."""

    kind: Annotated[
        Literal["requests"], key("one end asks, the other answers; response times are taken", "requests")
    ]
    transport: Transport = key(
        "the protocol that carries requests and answers",
        "tcp, udp, sctp",
        default="tcp",
        short=True,
        unit="",
    )
    placement: Placement = key(
        "who asks the guest: a bare host over the link, a guest of another host over the link, or a second guest "
        "of its own host",
        "guest-to-peer, inter-host, intra-host",
        default=GUEST_TO_PEER,
        short=True,
        unit="",
        laid_for=True,
    )
    message_bytes: int = key(
        "length of a request",
        f"1 to {GREATEST_MESSAGE_BYTES}, of udp at most {GREATEST_DATAGRAM_BYTES}",
        default=64,
        ge=1,
        le=GREATEST_MESSAGE_BYTES,
        short=True,
        unit="byte",
    )
    response_bytes: Annotated[int | None, Named(EQUAL, "bytes"), written(EQUAL)] = key(
        "length of its answer",
        f"1 to {GREATEST_MESSAGE_BYTES}, of udp at most {GREATEST_DATAGRAM_BYTES}; or {EQUAL} (as long as the request)",
        default=None,
        ge=1,
        le=GREATEST_MESSAGE_BYTES,
        short=True,
        unit="byte",
    )
    loop: Literal["closed", "open"] = key(
        "whether a request leaves as soon as the one before is answered, or when its time has come",
        "closed, open",
        default="closed",
        short=True,
        unit="",
    )
    requests_per_s: float = key(
        "how often its time comes in an open loop",
        f"more than 0, at most {GREATEST_RPS}",
        default=1000.0,
        gt=0,
        le=GREATEST_RPS,
        short=True,
        unit="requests/s",
    )

    def asked(self) -> dict[str, Scalar | None]:
        """Return its keys, with null for the rate of a closed loop."""
        return {**super().asked(), **({} if self.loop == "open" else {"requests_per_s": None})}

    @property
    def guests_forward(self) -> bool:
        """Both ends are end hosts."""
        return False

    @property
    def answer_bytes(self) -> int:
        """Length of an answer."""
        return self.message_bytes if self.response_bytes is None else self.response_bytes

    @property
    def exchange(self) -> ExchangeSpec:
        """The requests of each pair of ends."""
        options = SocketOptions() if self.transport == "udp" else SocketOptions(no_delay=self.no_delay)
        return ExchangeSpec(
            self.warmup_s,
            self.duration_s,
            self.message_bytes,
            self.transport,
            self.response_bytes,
            self.requests_per_s if self.loop == "open" else None,
            options,
        )

    def refusals(self, testbed: TestbedSettings) -> Iterator[Refusal]:
        """Links of another testbed, messages that their transport cannot take, more ways than can be followed."""
        if testbed.is_shared and self.placement != "guest-to-peer":
            problem = f"{self.placement} ends have a link of their own; allowed: dedicated"
            yield Refusal("testbed", "uplink", testbed.uplink, problem)
        for name, length in (("message_bytes", self.message_bytes), ("response_bytes", self.answer_bytes)):
            if self.transport == "udp" and length > GREATEST_DATAGRAM_BYTES:
                problem = f"{length} is more than a datagram holds; allowed with udp: 1 to {GREATEST_DATAGRAM_BYTES}"
                yield Refusal("workload", name, length, problem)
        yield from super().refusals(testbed)
