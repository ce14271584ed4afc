"""Lengths of frames: one, or a mix of a few in fixed shares.

A mix is sent as a cycle that goes round. The order is always the same and spreads each length evenly over the cycle,
so that the shares are exact over every cycle and near at any time.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from vtax.agent_api import LONGEST_CYCLE, MOST_LENGTHS

IMIX = "7:64 4:590 1:1514"
"""The simple IMIX: IP packets of 40, 576 and 1500 bytes, 7 to 4 to 1. The least frame stands for the first."""
NAMED = {"imix": IMIX}


@dataclass(frozen=True)
class Lengths:
    """The length in bytes of each frame of a cycle."""

    cycle: tuple[int, ...]

    @property
    def least(self) -> int:
        """The shortest frame."""
        return min(self.cycle)

    @property
    def greatest(self) -> int:
        """The longest frame."""
        return max(self.cycle)

    @property
    def mean(self) -> float:
        """Bytes of a frame over a whole cycle."""
        return sum(self.cycle) / len(self.cycle)

    def bytes_of(self, frames: int) -> int:
        """Bytes of the first so many frames."""
        cycles, rest = divmod(frames, len(self.cycle))
        return cycles * sum(self.cycle) + sum(self.cycle[:rest])

    def as_json(self) -> int | list[int]:
        """As the agents take it: a number, or the cycle of a mix."""
        return self.cycle[0] if len(self.cycle) == 1 else list(self.cycle)


def is_mix(text: str) -> bool:
    """Whether `text` means a mix, be it a wrong one."""
    return text in NAMED or ":" in text


def shares(mix: str) -> list[tuple[int, int]]:
    """The (count, frame_bytes) of a mix: `imix`, or COUNT:BYTES as in `7:64 4:590 1:1514`; raises ValueError."""
    parts = NAMED.get(mix, mix).split()
    found = []
    for part in parts:
        if not re.fullmatch(r"[1-9]\d{0,3}:[1-9]\d{0,4}", part):
            raise ValueError(f'"{part}" is no share of a mix; allowed: COUNT:BYTES, as in {IMIX}')
        count, frame_bytes = part.split(":")
        found.append((int(count), int(frame_bytes)))
    lengths = [frame_bytes for _, frame_bytes in found]
    if len(set(lengths)) < len(lengths):
        raise ValueError(f'"{mix}" has a length twice; write it once, with both counts in one')
    if not 1 < len(lengths) <= MOST_LENGTHS:
        raise ValueError(
            f'"{mix}" is a mix of {len(lengths)}; allowed: 2 to {MOST_LENGTHS} shares with spaces between, as in {IMIX}'
        )
    divisor = math.gcd(*(count for count, _ in found))
    if (total := sum(count for count, _ in found) // divisor) > LONGEST_CYCLE:
        raise ValueError(f'"{mix}" repeats after {total} frames; allowed: after {LONGEST_CYCLE} at most')
    return [(count // divisor, frame_bytes) for count, frame_bytes in found]


def interleaved(parts: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """A cycle of the (count, frame_bytes) in `parts`: a turn goes to the length that is furthest behind its share."""
    total = sum(count for count, _ in parts)
    behind = [0] * len(parts)
    cycle = []
    for _ in range(total):
        behind = [lag + count for lag, (count, _) in zip(behind, parts, strict=True)]
        turn = behind.index(max(behind))
        behind[turn] -= total
        cycle.append(parts[turn][1])
    return tuple(cycle)


def lengths_of(frame_bytes: int | str, least: int = 0) -> Lengths:
    """The lengths that a number or the text of a mix stands for; ValueError where that is none.

    Those of a mix that is named are no shorter than `least`.
    """
    if isinstance(frame_bytes, int):
        return Lengths((frame_bytes,))
    parts = shares(frame_bytes)
    if frame_bytes in NAMED:
        parts = [(count, max(length, least)) for count, length in parts]
    return Lengths(interleaved(parts))
