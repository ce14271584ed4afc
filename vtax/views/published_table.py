"""What the repeated paper prints, beside what was measured here."""

from __future__ import annotations

from collections.abc import Iterator

from vtax.documents.show.published import PublishedSharing
from vtax.model import numbers
from vtax.model.estimate import Estimate
from vtax.model.published import with_sources
from vtax.model.streams import stream_levels
from vtax.model.table import (
    LEFT_OUT,
    Column,
    Entry,
    N,
    Number,
    Section,
    Table,
    count,
    left_out,
    published_sections,
    ranged_number,
)
from vtax.views.sharing import Sharing
from vtax.views.sharing_tables import OfGuests
from vtax.views.summary import Summary
from vtax.views.tables import GUESTS

FORMS = {
    "aggregate goodput": numbers.mbps,
    "CPU": numbers.percent,
    "efficiency": numbers.ratio,
    "fairness": numbers.ratio,
}


def published_table(summary: Summary) -> Table:
    """A section a quantity: the platforms measured here with as many guests, then the paper's on its own hardware."""
    rows = summary.streams.sharing.published
    places = dict.fromkeys((row.direction, row.transport, row.quantity, row.unit) for row in rows)
    found = []
    for direction, transport, quantity, unit in places:
        printed = [
            row
            for row in rows
            if (row.direction, row.transport, row.quantity) == (direction, transport, quantity)
        ]
        in_unit = "" if unit == "ratio" else f", {unit}"
        title = f"{quantity}{in_unit}, {direction} {transport.upper()}"
        found.append(Section(title, (*_measured(summary, printed), *map(_printed, printed))))
    return Table(
        name="published",
        title="Beside the published numbers",
        note=with_sources("", [row.source for row in rows]),
        columns=(
            Column("platform"),
            GUESTS,
            Column("value", numeric=True),
            N,
            LEFT_OUT,
            Column("where"),
        ),
        sections=tuple(found),
    )


def printed_table(summary: Summary, quantity: str) -> Table:
    """What the paper prints of one quantity, to stand beside its figure."""
    rows = [row for row in summary.streams.sharing.published if row.quantity == quantity]
    return Table(
        name=f"published-{quantity.replace(' ', '-').lower()}",
        title=f"{quantity.capitalize()}, published",
        note="",
        columns=(Column("setup"), GUESTS, Column("value", numeric=True)),
        sections=published_sections(
            rows,
            lambda row: f"{row.direction} {row.transport.upper()}, {row.hardware} ({row.section})",
            lambda row: (
                row.setup,
                row.guests,
                Number(row.text if row.unit == "ratio" else f"{row.text} {row.unit}"),
            ),
        ),
    )


def _printed(row: PublishedSharing) -> tuple[Entry, ...]:
    return (
        row.setup,
        row.guests,
        Number(row.text),
        Number(""),
        Number(""),
        f"other hardware: {row.hardware} ({row.section})",
    )


def _measured(summary: Summary, printed: list[PublishedSharing]) -> Iterator[tuple[Entry, ...]]:
    """Platforms that are not emulated: an emulated CPU's numbers are no hypervisor's."""
    first = printed[0]
    for row, estimate in _estimates(summary.streams.sharing, first.quantity):
        levels = stream_levels(row.setting)
        same = (levels.direction, levels.transport) == (first.direction, first.transport)
        if (
            not same
            or summary.emulated(row.platform)
            or not any(_speaks_of(each, row.guests) for each in printed)
        ):
            continue
        value = ranged_number(estimate, FORMS[first.quantity])
        where = f"here, {row.setting.label}"
        yield row.platform, str(row.guests), value, count(estimate), left_out(estimate.left_out), where


def _estimates(sharing: Sharing, quantity: str) -> list[tuple[OfGuests, Estimate]]:
    """Every measured value of a quantity that the paper names so."""
    found: dict[str, list[tuple[OfGuests, Estimate | None]]] = {
        "aggregate goodput": [(row, row.aggregate_mbps) for row in sharing.goodput],
        "CPU": [(row, row.host_percent) for row in sharing.cpu],
        "efficiency": [(row, row.efficiency) for row in sharing.efficiency],
        "fairness": [(row, row.goodput) for row in sharing.fairness],
    }
    return [(row, estimate) for row, estimate in found[quantity] if estimate is not None]


def _speaks_of(row: PublishedSharing, guests: int) -> bool:
    """Whether that number of guests is among the row's own, `8` or `1 to 8`."""
    first, _, last = row.guests.partition(" to ")
    return int(first) <= guests <= int(last or first)
