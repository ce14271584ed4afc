"""Streams of data: the levels of their cells, and how much of them a link carries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from msgspec import structs
from pydantic import JsonValue

from vtax.model.levels import Levels, Setting
from vtax.units import OVERHEAD_BYTES

GUEST_TO_PEER = "guest-to-peer"
"""The placement of guests that share a link; trials of an earlier vtax have none."""

ETHERNET_BYTES = 14
LINK_FULL = 0.98
"""Share of what a link carries as goodput from which on it is full, as LINK_TOLERANCE of verdicts has it."""
TCP_HEADERS_BYTES = 52
"""IPv4 20, TCP 20, and its timestamps 12."""
UDP_HEADERS_BYTES = 28
"""IPv4 20, UDP 8."""
LINK_FORMULA = (
    "R / N is the share of a full link for each of N guests: layer-1 rate × payload / (mtu + 38 bytes) / N. The "
    "payload is mtu − 52 bytes for TCP with timestamps, mtu − 28 for UDP (mtu 1500: 1448 / 1538, 1472 / 1538)."
)


class StreamLevels(Levels, frozen=True):
    """What cells of one setting have in common. `buffer_bytes` is None for what the kernels choose."""

    direction: str
    transport: str
    message_bytes: int | None = None
    placement: str | None = GUEST_TO_PEER
    buffer_bytes: int | None = None

    @property
    def placed(self) -> str:
        """The placement, also of trials that record none."""
        return self.placement or GUEST_TO_PEER

    @property
    def shares_link(self) -> bool:
        """Whether guests are behind one link, with a bare peer each; else two ends have a link of their own."""
        return self.placed == GUEST_TO_PEER

    def factors(self, held: Mapping[str, str]) -> Mapping[str, str | float | None]:
        """Return the levels, with the placement of trials that record none."""
        return {**super().factors(held), "placement": self.placed}

    @property
    def phrases(self) -> Sequence[str]:
        """Direction, transport and placement; messages and buffers where they are set."""
        place = "" if self.shares_link else f" {self.placement}"
        messages = [f"{self.message_bytes}-byte messages"] if self.message_bytes else []
        buffers = [f"{self.buffer_bytes}-byte buffers"] if self.buffer_bytes else []
        return (f"{self.direction} {self.transport.upper()}{place}", *messages, *buffers)

    @property
    def rank(self) -> tuple[str, str, str, int, float]:
        """Shorter messages come first, the transport's default last; the kernels' buffers come first."""
        transport = {"tcp": "0", "sctp": "1"}.get(self.transport, self.transport)
        message = self.message_bytes or float("inf")
        return self.direction, self.placed, transport, self.buffer_bytes or 0, message


def stream_levels(setting: Setting) -> StreamLevels:
    """Return a setting's levels, which are streams'."""
    return setting.of(StreamLevels)


def without_message(setting: Setting) -> Setting:
    """Return what is held fixed while lengths of messages are compared."""
    return replace(setting, levels=structs.replace(stream_levels(setting), message_bytes=None))


def link_goodput_mbps(setting: Setting, testbed: Mapping[str, JsonValue]) -> float | None:
    """Return R theoretical: the layer-4 payload that full packets bring over the link, Mbit/s.

    `testbed` has the keys of the scenario that no factor varies. None for a link of no set speed, and for SCTP, whose
    packets hold as many chunks as come together.
    """
    levels, keys = stream_levels(setting), {**testbed, **dict(setting.further)}
    link_mbps, mtu = _number(keys.get("link_mbps")), _number(keys.get("mtu"))
    if link_mbps is None or mtu is None or levels.transport not in ("tcp", "udp"):
        return None
    headers = TCP_HEADERS_BYTES if levels.transport == "tcp" else UDP_HEADERS_BYTES
    payload = mtu - headers
    if levels.transport == "udp" and levels.message_bytes is not None:
        payload = min(payload, levels.message_bytes)
    return link_mbps * payload / (payload + headers + ETHERNET_BYTES + OVERHEAD_BYTES)


def fills_link(goodput_mbps: float, link_mbps: float | None) -> bool:
    """Whether a link that carries so much has room for no more."""
    return link_mbps is not None and goodput_mbps >= LINK_FULL * link_mbps


def _number(value: JsonValue) -> float | None:
    """Return a key's value; None where it is a word, as `unlimited` is."""
    if not isinstance(value, str | int | float):
        return None
    try:
        return float(value)
    except ValueError:
        return None
