"""A part of the validation: what was to hold, what was measured, and whether it held."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One thing that must hold.

    `measured` and `bound` are as the page prints them: with unit, interval and n. `explanation` says what a
    measurement showed of a miss that the machine forces, in whole sentences; None where there is none.
    """

    what: str
    measured: str
    bound: str
    holds: bool
    explanation: str | None = None


@dataclass(frozen=True)
class Section:
    """A section of docs/validation.md: prose (Markdown), then its checks as a table."""

    title: str
    text: str
    checks: tuple[Check, ...]
