"""Numbers that the repeated paper prints of guests that share a link and a host."""

from __future__ import annotations

from collections.abc import Sequence

from vtax.documents.show.published import PublishedSharing
from vtax.model.levels import Setting
from vtax.model.published import printed_rows
from vtax.model.streams import stream_levels
from vtax.results.stored import StoredScenario


def published(scenario: StoredScenario, settings: Sequence[Setting]) -> list[PublishedSharing]:
    """What the scenario's `source` prints of streams in these directions over these transports, in the file's order."""
    measured = {(levels.direction, levels.transport) for levels in map(stream_levels, settings)}
    return [
        _published(row)
        for row in printed_rows(scenario, "text.csv")
        if (row["direction"], row["transport"]) in measured
    ]


def _published(row: dict[str, str]) -> PublishedSharing:
    value = " to ".join(text for text in (row.pop("value"), row.pop("value_high")) if text)
    text = " ".join(part for part in (row.pop("relation"), value) if part)
    return PublishedSharing(text=text, **row)
