"""What a link can carry as goodput: the line that guests sharing it cannot be above together."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from vtax.units import OVERHEAD_BYTES
from vtax.views.bulk_cells import BulkSetting

ETHERNET_BYTES = 14
LINK_FULL = 0.98
"""Share of what a link carries as goodput from which on it is full, as LINK_TOLERANCE of verdicts has it."""
TCP_HEADERS_BYTES = 52
"""IPv4 20, TCP 20, and its timestamps 12."""
UDP_HEADERS_BYTES = 28
"""IPv4 20, UDP 8."""

FORMULA = (
    "R / N is the share of a full link for each of N guests: layer-1 rate × payload / (mtu + 38 bytes) / N. The "
    "payload is mtu − 52 bytes for TCP with timestamps, mtu − 28 for UDP (mtu 1500: 1448 / 1538, 1472 / 1538)."
)


def link_goodput_mbps(setting: BulkSetting, testbed: Mapping[str, JsonValue]) -> float | None:
    """R theoretical: layer-4 payload that full packets bring over the link.

    `testbed` has the keys of the scenario that no factor varies. None for a link of no set speed, and for SCTP, whose
    packets hold as many chunks as come together.
    """
    keys = {**testbed, **dict(setting.further)}
    link_mbps, mtu = _number(keys.get("link_mbps")), _number(keys.get("mtu"))
    if link_mbps is None or mtu is None or setting.transport not in ("tcp", "udp"):
        return None
    headers = TCP_HEADERS_BYTES if setting.transport == "tcp" else UDP_HEADERS_BYTES
    payload = mtu - headers
    if setting.transport == "udp" and setting.message_bytes is not None:
        payload = min(payload, setting.message_bytes)
    return link_mbps * payload / (payload + headers + ETHERNET_BYTES + OVERHEAD_BYTES)


def _number(value: JsonValue) -> float | None:
    """A key's value; None where it is a word, as `unlimited` is."""
    if not isinstance(value, str | int | float):
        return None
    try:
        return float(value)
    except ValueError:
        return None
