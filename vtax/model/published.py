"""What the repeated paper prints, to stand beside what was measured: of other hardware, in no ratio with it."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from vtax.results.stored import StoredScenario

DATA = Path(__file__).parent.parent / "data" / "scenarios"


Printed: TypeAlias = Mapping[str, str]
"""A row of a CSV file with what a paper prints, by the file's columns; all have `source`, `section` and `hardware`."""


def printed_rows(scenario: StoredScenario, file: str) -> list[dict[str, str]]:
    """The rows of the CSV of that name beside the scenarios of the paper that `source` names, in the file's order.

    Empty where the scenario repeats no paper, or one that has no such file.
    """
    paper = (scenario.get("source") or {}).get("paper")
    path = next((path for path in sorted(DATA.glob(f"*/{file}")) if path.parent.name == paper), None)
    return _rows(path) if path else []


def citation(scenario: StoredScenario) -> str:
    """The published experiment that the scenario repeats, with its section; empty where it repeats none."""
    source = scenario.get("source") or {}
    paper = str(source.get("paper") or "")
    rows = [row for path in sorted(DATA.glob("*/*.csv")) if path.parent.name == paper for row in _rows(path)]
    cited = next((row["source"] for row in rows if row.get("source")), paper)
    section = f", section {source['section']}" if source.get("section") else ""
    return f"{cited}{section}" if paper else ""


def with_sources(note: str, sources: Iterable[str]) -> str:
    """Return a table's note; with published rows in the table also what they are, and where they are from."""
    named = "; ".join(dict.fromkeys(sources))
    if not named:
        return note
    return f"{note} Published values are from other hardware: no ratio is formed with them. {named}.".lstrip()


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as text:
        return list(csv.DictReader(text))
