"""A part of the bench: what was measured of vtax and of its peers, and whether the ratio is what it must be."""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One row of the page.

    `ours` and `peers` are as the page prints them: median with unit, least and greatest, n. `ratio` is ours over the
    peer's, or the measured value itself where `required` bounds one; `low` and `high` are its 95% interval. `holds` is
    None where nothing is required. `note` says what a measurement showed of a miss that the machine forces, or why a
    peer was not measured, in whole sentences.
    """

    name: str
    ours: str
    peers: str
    required: str
    ratio: float | None
    low: float | None
    high: float | None
    holds: bool | None
    note: str | None = None


@dataclass(frozen=True)
class Section:
    """A section of bench/RESULTS.md: prose (Markdown), then its figures as a table."""

    title: str
    text: str
    figures: tuple[Figure, ...]


def sample_text(values: Iterable[float], unit: str, digits: int) -> str:
    """Median with its unit, least and greatest, and n, as the page prints them."""
    found = sorted(values)
    middle, least, greatest = (
        f"{each:.{digits}f}" for each in (statistics.median(found), found[0], found[-1])
    )
    return f"{middle} {unit} ({least} to {greatest}, n = {len(found)})"
