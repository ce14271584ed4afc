"""Numbers that the repeated paper prints, to stand beside what was measured: of other hardware, in no ratio with it."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vtax.views.bulk_cells import BulkSetting

DATA = Path(__file__).parent.parent / "data" / "scenarios"


@dataclass(frozen=True)
class Published:
    """A number as a paper prints it.

    `quantity` is aggregate goodput, efficiency, fairness or CPU; `guests` a number or a range.
    """

    direction: str
    transport: str
    guests: str
    quantity: str
    text: str
    unit: str
    setup: str
    hardware: str
    section: str
    source: str

    def speaks_of(self, guests: int) -> bool:
        """Whether that number of guests is among its own, `8` or `1 to 8`."""
        first, _, last = self.guests.partition(" to ")
        return int(first) <= guests <= int(last or first)


def published(scenario: Mapping[str, Any], settings: Sequence[BulkSetting]) -> list[Published]:
    """What the scenario's `source` prints of streams in these directions over these transports, in the file's order."""
    paper = (scenario.get("source") or {}).get("paper")
    path = next((path for path in sorted(DATA.glob("*/text.csv")) if path.parent.name == paper), None)
    if path is None:
        return []
    measured = {(setting.direction, setting.transport) for setting in settings}
    with path.open(newline="", encoding="utf-8") as file:
        rows = [_published(row) for row in csv.DictReader(file)]
    return [row for row in rows if (row.direction, row.transport) in measured]


def _published(row: dict[str, str]) -> Published:
    value = " to ".join(text for text in (row.pop("value"), row.pop("value_high")) if text)
    text = " ".join(part for part in (row.pop("relation"), value) if part)
    return Published(text=text, **row)
