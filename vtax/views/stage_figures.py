"""The figures of oljira2016, sections III.C and III.D: distributions of delay by stage, and by number of guests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pydantic import JsonValue

from vtax.views.figure import Figure, Key, Panel, figure, plot
from vtax.views.palette import guests_color, stage_color
from vtax.views.stage_tables import HOSTS, stages_table
from vtax.views.stages import StageDelay, traced_guests
from vtax.views.summary import Summary
from vtax.views.tables import heading
from vtax.views.traces import Trace, curve

SWITCH = "switch"
DELAY_AXIS: dict[str, JsonValue] = {"type": "log", "exponentformat": "none", "separatethousands": True}
SHARE_AXIS: dict[str, JsonValue] = {"range": [-0.02, 1.02], "nticks": 6}


@figure("stage-distributions")
def stage_distributions(summary: Summary) -> Figure:
    """Share of packets over delay, a line a stage, a panel a platform, host and direction (oljira2016 Fig. 6)."""
    rows = [row for row in summary.tracing.stages if row.curve]
    panels = []
    for (platform, title, where), here in _grouped(summary, rows):
        lines = [_cumulative(row) for row in here]
        drawn = plot(lines, "delay, µs", "share of packets", xaxis=DELAY_AXIS, yaxis=SHARE_AXIS)
        panels.append(Panel(f"{platform}, {where}", drawn, row=f"{title}, {platform}", platform=platform))
    names = list(dict.fromkeys(row.stage for row in rows))
    return Figure(
        name="stage-distributions",
        title="Delay by stage",
        caption="Share of the packets of all repetitions with at most this delay. The delay axis is logarithmic. "
        "Dashed: all stages together.",
        panels=tuple(panels),
        platforms=(),
        table=stages_table(summary),
        keys=tuple(Key(name, stage_color(name)) for name in names),
    )


@figure("stages-by-guests")
def stages_by_guests(summary: Summary) -> Figure:
    """Share of packets beyond a delay, a line a number of guests: all stages, and the switch (oljira2016 Fig. 9)."""
    rows = [row for row in summary.tracing.stages if row.curve and (row.is_whole or row.stage == SWITCH)]
    panels = []
    for platform in dict.fromkeys(row.platform for row in rows):
        own = [row for row in rows if row.platform == platform]
        for where, here in _by_place(own):
            lines = [_complementary(row) for row in sorted(here, key=lambda row: traced_guests(row.setting))]
            drawn = plot(lines, "delay, µs", "share beyond", xaxis=DELAY_AXIS, yaxis=SHARE_AXIS)
            panels.append(Panel(f"{platform}, {where}", drawn, row=platform, platform=platform))
    guests = sorted({traced_guests(row.setting) for row in rows})
    return Figure(
        name="stages-by-guests",
        title="Delay by number of guests",
        caption="Share of the packets of all guests and repetitions with a longer delay. The delay axis is "
        "logarithmic. Total is all stages of the host.",
        panels=tuple(panels),
        platforms=(),
        table=stages_table(summary),
        keys=tuple(Key(_guests(number), guests_color(number)) for number in guests),
    )


def _grouped(
    summary: Summary, rows: Iterable[StageDelay]
) -> list[tuple[tuple[str, str, str], list[StageDelay]]]:
    grouped: dict[tuple[str, str, str], list[StageDelay]] = {}
    for row in rows:
        direction = "" if row.direction == "through" else f", {row.direction}"
        place = f"{HOSTS.get(row.host or '', row.host or '')}{direction}"
        grouped.setdefault((row.platform, heading(summary, row), place), []).append(row)
    return list(grouped.items())


def _by_place(rows: Sequence[StageDelay]) -> list[tuple[str, list[StageDelay]]]:
    grouped: dict[str, list[StageDelay]] = {}
    for row in rows:
        host = HOSTS.get(row.host or "", row.host or "")
        grouped.setdefault(f"{host}, {row.direction} {row.stage}", []).append(row)
    return list(grouped.items())


def _cumulative(row: StageDelay) -> Trace:
    return _curve(row, row.stage, stage_color(row.stage), lambda share: share, "at most", dashed=row.is_whole)


def _complementary(row: StageDelay) -> Trace:
    guests = traced_guests(row.setting)
    return _curve(row, _guests(guests), guests_color(guests), lambda share: 1 - share, "more than")


def _curve(
    row: StageDelay,
    label: str,
    color: str,
    change: Callable[[float], float],
    how: str,
    *,
    dashed: bool = False,
) -> Trace:
    points = [(max(delay_ns, 1.0) / 1000, change(share)) for delay_ns, share in row.curve]
    hover = f"%{{y:.0%}} of {row.packets} packets took {how} %{{x:,.3~r}} µs"
    return curve(label, color, points, hover, key=row.key, dashed=dashed)


def _guests(number: int) -> str:
    return f"{number} guest{'s' if number > 1 else ''}"
