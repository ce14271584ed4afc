"""Kind `bulk`: streams of data to, from or through guests, from peers outside the host or between two guests."""

from collections.abc import Iterator
from typing import Annotated, Literal

from vtax.agent_api import (
    GREATEST_GOODPUT_MBPS,
    GREATEST_MESSAGE_BYTES,
    GREATEST_SOCKET_BUFFER_BYTES,
    LEAST_RECORD_BYTES,
    LEAST_SOCKET_BUFFER_BYTES,
    LONGEST_CONGESTION_NAME,
    MOST_FLOWS,
    SocketOptions,
)
from vtax.keys.endpoints import GUEST_TO_PEER, EndpointKeys, Placement, Transport
from vtax.keys.fields import Named, key, written
from vtax.keys.streams import UDP_HEADERS_BYTES, StreamSpec
from vtax.keys.testbed import TestbedSettings
from vtax.keys.workload import Refusal, shared_uplink

DEFAULT = "default"


class Bulk(EndpointKeys):
    """Streams of data, as fast as their transport goes or at a set goodput (anhalt2009, IV.B; oljira2016, III.B)."""

    has_rate = True
    kind: Annotated[Literal["bulk"], key("guests send, receive or forward streams of data", "bulk")]
    transport: Transport = key(
        "the protocol that carries the data",
        "tcp, udp, sctp",
        default="tcp",
        short=True,
        unit="",
    )
    placement: Placement = key(
        "where the far end is: a bare host for each guest behind a switch, a guest of another host over the link, or a "
        "second guest of the same host",
        "guest-to-peer, inter-host, intra-host",
        default=GUEST_TO_PEER,
        short=True,
        unit="",
        laid_for=True,
    )
    direction: Literal["sending", "receiving", "forwarding"] = key(
        "what the guests do: send to their peers, receive from them, or forward what these send to servers behind them",
        "sending, receiving, forwarding",
        default="sending",
        short=True,
        unit="",
        laid_for=True,
    )
    flows: int = key(
        "connections of each guest",
        f"1 to {MOST_FLOWS}",
        default=1,
        ge=1,
        le=MOST_FLOWS,
        short=True,
    )
    message_bytes: Annotated[int | None, Named(DEFAULT, "bytes"), written(DEFAULT)] = key(
        "what is handed to the kernel at once: a datagram, or a piece of a stream",
        f"{LEAST_RECORD_BYTES} to {GREATEST_MESSAGE_BYTES}, of udp as much as a packet holds; or {DEFAULT} "
        "(tcp 65536, sctp 1024, udp a full packet)",
        default=None,
        ge=LEAST_RECORD_BYTES,
        le=GREATEST_MESSAGE_BYTES,
        short=True,
        unit="byte",
    )
    intended_goodput_mbps: Annotated[float | None, Named("max", "Mbit/s"), written("max")] = key(
        "load of each flow in bytes of messages; `max`: as fast as it goes",
        f"more than 0, at most {GREATEST_GOODPUT_MBPS}, or max",
        default=None,
        gt=0,
        le=GREATEST_GOODPUT_MBPS,
    )
    congestion: str = key(
        "TCP's congestion control, by its name in the kernels",
        f"text, or {DEFAULT}",
        default=DEFAULT,
        pattern=rf"^[a-z][a-z0-9_-]{{0,{LONGEST_CONGESTION_NAME - 1}}}$",
    )
    buffer_bytes: Annotated[int | None, Named(DEFAULT, "bytes"), written(DEFAULT)] = key(
        "the sockets' send and receive buffers",
        f"{LEAST_SOCKET_BUFFER_BYTES} to {GREATEST_SOCKET_BUFFER_BYTES}, or {DEFAULT} (what the kernels choose)",
        default=None,
        ge=LEAST_SOCKET_BUFFER_BYTES,
        le=GREATEST_SOCKET_BUFFER_BYTES,
        short=True,
        unit="byte",
    )

    @property
    def guests_forward(self) -> bool:
        """End hosts do not."""
        return self.direction == "forwarding"

    def refusals(self, testbed: TestbedSettings) -> Iterator[Refusal]:
        """Links of another testbed, and messages that their transport cannot take."""
        if self.has_bare_peers:
            yield from shared_uplink(self.kind, testbed)
        elif testbed.is_shared:
            problem = f"{self.placement} ends have a link of their own; allowed: dedicated"
            yield Refusal("testbed", "uplink", testbed.uplink, problem)
        elif self.guests_forward:
            problem = f"{self.placement} guests are end hosts; allowed: sending, receiving"
            yield Refusal("workload", "direction", self.direction, problem)
        most = testbed.mtu - UDP_HEADERS_BYTES
        if self.transport == "udp" and self.message_bytes is not None and self.message_bytes > most:
            problem = (
                f"{self.message_bytes} does not fit a packet of mtu {testbed.mtu}; "
                f"allowed with udp: {LEAST_RECORD_BYTES} to {most}"
            )
            yield Refusal("workload", "message_bytes", self.message_bytes, problem)
        if self.congestion != DEFAULT and self.transport != "tcp":
            problem = f"{self.transport} leaves no such choice; allowed: {DEFAULT}"
            yield Refusal("workload", "congestion", self.congestion, problem)
        yield from super().refusals(testbed)

    @property
    def streams(self) -> StreamSpec:
        """The streams of each guest."""
        return StreamSpec(
            self.warmup_s,
            self.duration_s,
            transport=self.transport,
            flows=self.flows,
            message_bytes=self.message_bytes,
            intended_goodput_mbps=self.intended_goodput_mbps,
            options=SocketOptions(
                congestion=None if self.congestion == DEFAULT else self.congestion,
                no_delay=self.transport == "udp" or self.no_delay,
                send_buffer_bytes=self.buffer_bytes,
                receive_buffer_bytes=self.buffer_bytes,
            ),
        )
