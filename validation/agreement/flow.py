"""What a trial came to, told by vtax or by a capture."""

from dataclasses import dataclass

COUNTS = ("sent", "received", "lost", "duplicated", "reordered")


@dataclass(frozen=True)
class Flow:
    """A trial's measured phase; delay is NaN where none is told."""

    sent: int
    received: int
    lost: int
    duplicated: int
    reordered: int
    received_mbps: float
    delay_p50_ns: float
