"""The figures of anhalt2009, section IV.B: goodput and CPU time by the number of guests that share a link."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from pydantic import JsonValue

from vtax.model import numbers
from vtax.model.bound import Bound
from vtax.model.dimensions import guests_phrase
from vtax.model.estimate import Estimate
from vtax.model.streams import LINK_FORMULA
from vtax.views import sharing_tables
from vtax.views.cpu import DOMAINS
from vtax.views.figure import Figure, Key, Panel, figure, plot
from vtax.views.goodput import Goodput
from vtax.views.guest_cpu import GuestCpu
from vtax.views.palette import Style, domain_color, styles
from vtax.views.published_table import printed_table
from vtax.views.sharing_tables import OfGuests, account_label, ordered
from vtax.views.summary import Summary
from vtax.views.tables import heading
from vtax.views.traces import (
    MBPS_GOODPUT,
    PERCENT_OF_A_CPU,
    Point,
    Quantity,
    Trace,
    bars,
    dodged_points,
    level,
    stack,
    whiskers,
)

Row = TypeVar("Row", bound=OfGuests)
Draw = Callable[[str, Style, Sequence[Point], Quantity], Trace]


@figure("goodput-by-guests")
def goodput_by_guests(summary: Summary) -> Figure:
    """Aggregate goodput by guests, each guest's beside it (anhalt2009 Fig. 5, 7, 9, 11)."""
    rows = summary.streams.sharing.goodput
    panels = []
    for title, here in _grouped(summary, rows):
        guests = sorted({row.guests for row in here})
        aggregate = _traces(summary, here, bars, lambda row: [_point(row, row.aggregate_mbps)])
        each = _traces(
            summary,
            here,
            dodged_points,
            lambda row: [_point(row, found, f"guest {guest}") for guest, found in row.by_guest_mbps.items()],
        )
        full = here[0].link_mbps or 0.0
        side_by_side: dict[str, JsonValue] = {"barmode": "group", "bargap": 0.28}
        in_lanes: dict[str, JsonValue] = {"scattermode": "group", "scattergap": 0.28}
        for name, traces, link_mbps, mode in (
            ("aggregate", aggregate, [full for _ in guests], side_by_side),
            ("each guest", each, [full / n for n in guests], in_lanes),
        ):
            lines: list[JsonValue] = [level(i, mbps) for i, mbps in enumerate(link_mbps) if mbps]
            reach = 1.06 * max(full, *(row.aggregate_mbps.value for row in here))
            axes = _axes(guests, reach)
            drawn = plot(traces, "guests", f"goodput, {numbers.L4_MBPS}", **axes, **mode, shapes=lines)
            panels.append(Panel(f"{title}, {name}", drawn, row=title))
    return Figure(
        name="goodput-by-guests",
        title="Goodput by guests",
        caption="Error bars: 95% intervals. Hatched: emulated CPU. Empty: limited by the far ends. "
        "Dotted: R for the aggregate, R / N for each guest. " + LINK_FORMULA,
        panels=tuple(panels),
        platforms=_present(summary, rows),
        table=sharing_tables.goodput_table(summary),
        printed=printed_table(summary, "aggregate goodput"),
    )


@figure("cpu-by-guests")
def cpu_by_guests(summary: Summary) -> Figure:
    """CPU time by guests, stacked by whose it was (anhalt2009 Fig. 6, 8, 10, 12)."""
    rows = [row for row in summary.streams.sharing.cpu if row.by_account]
    panels = []
    for title, here in _grouped(summary, rows):
        most = max(row.busy_percent.value for row in here if row.busy_percent)
        for platform in dict.fromkeys(row.platform for row in here):
            own = [row for row in here if row.platform == platform]
            drawn = plot(
                _stacked(own, styles(summary.platforms)[platform].hatch),
                "guests",
                "CPU, %",
                barmode="stack",
                bargap=0.4,
                **_axes(sorted({row.guests for row in own}), 1.1 * most),
            )
            panels.append(Panel(f"{title}, {platform}", drawn, row=title, platform=platform))
    domains = {domain for row in rows for domain, _ in row.by_account}
    return Figure(
        name="cpu-by-guests",
        title="CPU time by guests",
        caption="Busy time of all CPUs, stacked by owner, guest upon guest. Error bar: 95% interval of the total. "
        f"Hatched: emulated CPU. {sharing_tables.CPU_NOTE}",
        panels=tuple(panels),
        platforms=(),
        table=sharing_tables.accounts_table(summary),
        keys=tuple(
            Key(label, domain_color(domain)) for domain, label in DOMAINS.items() if domain in domains
        ),
        printed=printed_table(summary, "CPU"),
    )


def _stacked(rows: Sequence[GuestCpu], hatch: str) -> list[Trace]:
    accounts = ordered(dict.fromkeys(account for row in rows for account in row.by_account))
    layers = [
        stack(
            account_label(account),
            domain_color(account[0]),
            hatch,
            [_point(row, row.by_account[account]) for row in rows if account in row.by_account],
            PERCENT_OF_A_CPU,
        )
        for account in accounts
    ]
    whole = [_point(row, row.busy_percent) for row in rows if row.busy_percent]
    return [*layers, whiskers("all", whole, PERCENT_OF_A_CPU)]


def _point(row: OfGuests, estimate: Estimate, part: str = "") -> Point:
    where = f"with {guests_phrase(row.guests)}"
    return Point(str(row.guests), estimate, where, estimate.bound is not Bound.EXACT, part, key=row.key)


def _grouped(summary: Summary, rows: Iterable[Row]) -> list[tuple[str, list[Row]]]:
    """Rows of one setting and group, native or emulated, under their heading."""
    grouped: dict[str, list[Row]] = {}
    for row in rows:
        grouped.setdefault(heading(summary, row), []).append(row)
    return list(grouped.items())


def _traces(
    summary: Summary, rows: Sequence[Goodput], draw: Draw, points: Callable[[Goodput], list[Point]]
) -> list[Trace]:
    """A trace a platform, in the campaign's order."""
    return [
        draw(
            platform,
            style,
            [p for row in rows if row.platform == platform for p in points(row)],
            MBPS_GOODPUT,
        )
        for platform, style in styles(summary.platforms).items()
        if any(row.platform == platform for row in rows)
    ]


def _axes(guests: Sequence[int], reach: float) -> dict[str, JsonValue]:
    categories = [str(number) for number in guests]
    return {
        "xaxis": {"type": "category", "categoryarray": [*categories], "showgrid": False},
        "yaxis": {"range": [0, reach], "nticks": 6},
    }


def _present(summary: Summary, rows: Iterable[Goodput]) -> tuple[str, ...]:
    measured = {row.platform for row in rows}
    return tuple(platform.name for platform in summary.platforms if platform.name in measured)
