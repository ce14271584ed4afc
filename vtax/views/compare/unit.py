"""What the values of a comparison are of."""

from __future__ import annotations

from enum import StrEnum


class Unit(StrEnum):
    """What n counts: repetitions of both sides, or what they are paired within."""

    REPETITION = "repetition"
    BLOCK = "block"
    QUAD = "quad"
