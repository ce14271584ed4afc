"""Cells as they were recorded: their place in the grid, and how many of their trials can be shown."""

from __future__ import annotations

from dataclasses import dataclass

from vtax.model.levels import Setting


@dataclass(frozen=True, eq=False)
class Recorded:
    """A cell that has a recorded trial, and how many of these are invalid and suspect."""

    key: str
    platform: str
    setting: Setting
    recorded: int
    invalid: int
    suspect: int

    @property
    def left_out(self) -> float:
        """Share of the recorded trials that are invalid."""
        return self.invalid / self.recorded if self.recorded else 0.0

    @property
    def is_usable(self) -> bool:
        """Whether it has a trial that is not invalid."""
        return self.recorded > self.invalid
