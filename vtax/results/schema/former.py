"""The columns of `trials` where campaign.json lists none: an earlier vtax wrote those of all kinds into each result."""

from typing import Final

from vtax.columns import Column, ColumnType

TEXT, WHOLE, NUMBER = ColumnType.STRING, ColumnType.INT32, ColumnType.DOUBLE

LEVELS: Final = {
    "streams": (WHOLE, "streams"),
    "transport": (TEXT, ""),
    "direction": (TEXT, ""),
    "placement": (TEXT, ""),
    "message_bytes": (WHOLE, "byte"),
    "response_bytes": (WHOLE, "byte"),
    "buffer_bytes": (WHOLE, "byte"),
    "loop": (TEXT, ""),
    "requests_per_s": (NUMBER, "requests/s"),
    "payload_bytes": (WHOLE, "byte"),
    "interval_ms": (NUMBER, "ms"),
    "others": (TEXT, ""),
    "frame_bytes": (WHOLE, "byte"),
    "frame_mix": (TEXT, ""),
    "intended_mbps": (NUMBER, "Mbit/s"),
    "load": (TEXT, ""),
    "hops": (WHOLE, "relays"),
    "iterations": (WHOLE, "rounds"),
    "connection": (TEXT, ""),
    "server": (TEXT, ""),
}
MEASURED: Final = {
    "mechanism": (TEXT, ""),
    "ceiling_fps": (NUMBER, "frames/s"),
    "ceiling_share": (NUMBER, "ratio"),
    "sink_mode": (TEXT, ""),
    "sink_fallback": (TEXT, ""),
}
"""Type and unit by name; what they mean is said by the kinds that have them."""

FORMER: Final = (
    *(Column(name, kind, unit, "", is_level=True) for name, (kind, unit) in LEVELS.items()),
    *(Column(name, kind, unit, "") for name, (kind, unit) in MEASURED.items()),
)
