"""A figure of ours beside other tools', and whether it reaches what is required of it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Comparison:
    """One figure: every round's value of ours and of each peer, in `unit`.

    `ratio` with its 95% interval is ours over the peer's, paired within rounds; None where there is no peer.
    """

    name: str
    unit: str
    ours: tuple[float, ...]
    peers: dict[str, tuple[float, ...]]
    required: str
    ratio: float | None
    low: float | None
    high: float | None
    holds: bool
    note: str
