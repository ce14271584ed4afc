"""A reason for care."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Caveat:
    """A reason for care: what is affected, and why."""

    subject: str
    text: str


def cells_text(count: int) -> str:
    """So many cells, in words."""
    return "1 cell" if count == 1 else f"{count} cells"
