"""Throughput within the loss goals, and what bounded it, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vtax.model import numbers
from vtax.model.bound import Limit
from vtax.model.estimate import Estimate
from vtax.model.levels import Setting
from vtax.model.metrics import CPU, WAITED
from vtax.model.table import LEFT_OUT, UNKNOWN, Column, Entry, N, Number, Table, count, left_out, sections
from vtax.model.table import mean_number as mean
from vtax.views.capacity import NDR, PDR, Capacity
from vtax.views.summary import Summary
from vtax.views.tables import MAXIMUM_OVER_LOADS, by_setting, heading
from vtax.views.throughput import Maximum

_WITHOUT_SINK = (
    "Without sink: the most that is left to reach where vtax's sink takes no time of the unit under test."
)
_GOALS = (
    f"{PDR.name}: at most {PDR.percent} of the frames lost, the mean of the repetitions. {NDR.name}: no frame lost in "
    "any."
)


def capacity_table(summary: Summary) -> Table:
    """Throughput within the loss goals PDR and NDR; one row where both are the same."""
    rows: dict[tuple[str, Setting, str], list[Capacity]] = {}
    for found in by_setting(summary.loads.capacities):
        rows.setdefault((found.platform, found.setting, found.uut_context), []).append(found)
    return Table(
        name="capacity",
        title="Throughput within the loss goals",
        note=f"{_GOALS} At layer 1, all streams together. Less than: the least load beyond the goal. "
        f"{MAXIMUM_OVER_LOADS}",
        columns=(
            Column("platform"),
            Column("goal"),
            Column("received", "Mbit/s", numeric=True),
            Column("frames", "1/s", numeric=True),
            Column("less than", "Mbit/s", numeric=True),
            N,
            LEFT_OUT,
            Column("bounded by"),
        ),
        sections=sections(
            [line for goals in rows.values() for line in _merged(goals)],
            lambda line: heading(summary, line[1]),
            lambda line: _capacity_row(*line),
            lambda line: line[1].key,
        ),
    )


def _merged(goals: Sequence[Capacity]) -> list[tuple[str, Capacity]]:
    """Goals with what meets them, two in one line where one load is the answer to both."""
    first, *others = goals
    if all(replace(other, goal=first.goal, loss_ratio=first.loss_ratio) == first for other in others):
        return [("both", first)]
    return [(each.goal, each) for each in goals]


def _capacity_row(goals: str, found: Capacity) -> Sequence[Entry]:
    received, less_than = found.received_mbps, found.less_than_mbps
    return (
        found.platform,
        goals,
        mean(received, numbers.mbps),
        _amount(found.received_fps, numbers.whole),
        Number(UNKNOWN if less_than is None else numbers.mbps(less_than)),
        count(received),
        left_out(received.left_out) if received else Number(UNKNOWN),
        _what_bounds(found),
    )


def _what_bounds(found: Capacity) -> str:
    if found.undecided:
        return found.undecided
    if found.maximum is None:
        return "no measured load"
    if found.is_bracketed and found.limit is Limit.OFFERED:
        return "the loads measured"
    return str(found.limit or "the platform")


def limit_table(summary: Summary) -> Table:
    """What bounded each PDR, and what shows it: busy CPUs, and the source's waiting for room."""
    maxima = [
        found.maximum
        for found in summary.loads.capacities
        if found.goal == PDR.name and found.maximum and found.maximum.cell.values(WAITED.column)
    ]
    return Table(
        name="limits",
        title="Limits of the throughput",
        note="At the load that carried most within the PDR. Where the platform bounded it, its CPUs are busy, or the "
        "source waits for room in the next hop's queue. CPU: of all CPUs that host and guests run on, 100 = one CPU. "
        f"Waiting: share of the time, the mean of the streams. {_WITHOUT_SINK}",
        columns=(
            Column("platform"),
            Column("host CPU", "%", numeric=True),
            Column("source waited", "%", numeric=True),
            Column("without sink", "Mbit/s", numeric=True),
            N,
            LEFT_OUT,
            Column("bounded by"),
        ),
        sections=sections(by_setting(maxima), lambda maximum: heading(summary, maximum), _limit_row),
    )


def _limit_row(maximum: Maximum) -> Sequence[Entry]:
    cell = maximum.cell
    waited = cell.estimate(WAITED)
    return (
        maximum.platform,
        mean(cell.estimate(CPU), numbers.percent),
        mean(waited, numbers.ratio_as_percent),
        _amount(maximum.without_sink_mbps, numbers.mbps),
        count(waited),
        left_out(cell.left_out),
        str(maximum.limit or "the platform"),
    )


def _amount(estimate: Estimate | None, form: numbers.Format) -> Number:
    """What is as uncertain as the value beside it."""
    return Number(UNKNOWN if estimate is None else numbers.amount(estimate, form))
