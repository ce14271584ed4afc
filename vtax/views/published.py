"""Numbers that the repeated paper prints of guests that share a link and a host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vtax.model.levels import Setting
from vtax.model.published import printed_rows
from vtax.model.streams import stream_levels
from vtax.results.stored import StoredScenario


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


def published(scenario: StoredScenario, settings: Sequence[Setting]) -> list[Published]:
    """What the scenario's `source` prints of streams in these directions over these transports, in the file's order."""
    measured = {(levels.direction, levels.transport) for levels in map(stream_levels, settings)}
    return [
        _published(row)
        for row in printed_rows(scenario, "text.csv")
        if (row["direction"], row["transport"]) in measured
    ]


def _published(row: dict[str, str]) -> Published:
    value = " to ".join(text for text in (row.pop("value"), row.pop("value_high")) if text)
    text = " ".join(part for part in (row.pop("relation"), value) if part)
    return Published(text=text, **row)
