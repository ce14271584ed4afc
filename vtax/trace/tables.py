"""What a trace has shown as tables."""

from collections.abc import Iterator
from dataclasses import replace

from vtax.model import numbers
from vtax.model.table import UNKNOWN, Column, Entry, Number, Section, Table
from vtax.stages import StageTimes, TrailReading
from vtax.trace.session import Drop, Result

LEAST_P50, LEAST_P90, LEAST_P99 = 20, 100, 1000
"""Packets that a quantile is shown with at least: 10 / (1 - q)."""


def stages_table(result: Result) -> Table:
    """A section a way: its stages in their order, and all of it."""
    trails = result.reading.trails if result.reading is not None else ()
    return Table(
        name="stages",
        title="Delay by stage",
        note=f"One packet in {result.every} is followed, {result.elapsed_s:.0f} s so far. "
        "The stages of a way are of the same packets, their means add up.",
        columns=(
            Column("stage"),
            Column("packets", numeric=True),
            *(Column(name, "µs", numeric=True) for name in ("mean", "p50", "p90", "p99", "max")),
        ),
        sections=tuple(Section(_title(reading), tuple(_rows(reading))) for reading in trails),
    )


def drops_table(result: Result) -> Table:
    """Whatever the kernel dropped at the interfaces, followed or not."""
    return Table(
        name="drops",
        title="Dropped at these interfaces",
        note="All packets, with the kernel's reason.",
        columns=(Column("interface"), Column("when"), Column("reason"), Column("packets", numeric=True)),
        sections=(Section("", tuple(_drop(drop) for drop in result.drops)),),
    )


def remarks(result: Result) -> list[str]:
    """What could not be observed, a sentence each."""
    told = list(result.remarks)
    reading = result.reading
    if reading is None:
        return told
    told += [
        f"{each.trail.name}: no packet has passed all hooks{_stuck(each)}"
        for each in reading.trails
        if not each.total.count
    ]
    if reading.unattributed:
        told.append(
            f"{reading.unattributed} of {reading.followed} followed packets are on none of these ways, were dropped, "
            "or are still on theirs"
        )
    if reading.lost:
        told.append(f"{reading.lost} followed packets were lost sight of; a larger --sample follows fewer")
    return told


def shown_times(times: StageTimes) -> StageTimes:
    """Return them without quantiles of too few packets."""
    return replace(
        times,
        p50_ns=times.p50_ns if times.count >= LEAST_P50 else None,
        p90_ns=times.p90_ns if times.count >= LEAST_P90 else None,
        p99_ns=times.p99_ns if times.count >= LEAST_P99 else None,
    )


def _title(reading: TrailReading) -> str:
    return reading.trail.name


def _rows(reading: TrailReading) -> Iterator[tuple[Entry, ...]]:
    for stage, times in zip(reading.trail.stages, reading.stages, strict=True):
        yield _row(stage.label, times)
    if len(reading.stages) > 1:
        yield _row("total", reading.total)


def _row(name: str, times: StageTimes) -> tuple[Entry, ...]:
    shown = shown_times(times)
    values = (shown.mean_ns, shown.p50_ns, shown.p90_ns, shown.p99_ns, shown.max_ns)
    return (
        name,
        Number(f"{times.count:,}"),
        *(Number(UNKNOWN if value is None else numbers.microseconds(value)) for value in values),
    )


def _drop(drop: Drop) -> tuple[Entry, ...]:
    when = "after it arrived" if drop.arrived else "on its way out"
    return (drop.interface, when, drop.reason, Number(f"{drop.packets:,}"))


def _stuck(reading: TrailReading) -> str:
    """After which hook followed packets were not seen any more."""
    points = reading.trail.points
    seen = [number for number, frames in enumerate(reading.frames) if frames]
    if not seen or seen[-1] + 1 >= len(points):
        return ""
    last, awaited = points[seen[-1]], points[seen[-1] + 1]
    return (
        f"; {reading.frames[seen[-1]]} were seen at {last.hook} of {last.place.name}, none at {awaited.hook} of "
        f"{awaited.place.name}"
    )
