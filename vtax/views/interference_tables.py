"""Interference as tables: each ratio, victims by aggressors, and the neighbours' own loads."""

from __future__ import annotations

from collections.abc import Iterable

from vtax.documents.show.published import PublishedStress, PublishedTraffic
from vtax.model import numbers
from vtax.model.published import with_sources
from vtax.model.table import (
    LEFT_OUT,
    UNKNOWN,
    Column,
    N,
    Number,
    Section,
    Table,
    count,
    left_out,
    mean_number,
    published_sections,
    sections,
)
from vtax.views.interference import IDLE, Interference
from vtax.views.neighbours import NeighbourLoad
from vtax.views.summary import Summary
from vtax.views.tables import EMULATED_HEADING

_ONE = "1 means no difference. Below 1 is worse for a throughput, above 1 for a response time."


def interference_table(summary: Summary) -> Table:
    """A row a platform, setting and behaviour of the neighbours."""
    return Table(
        name="interference",
        title="Interference: ratio to the same cell with an idle neighbour, or without one",
        note=with_sources(
            f"Ratios, paired within blocks, with 95% intervals. {_ONE} ≥, ≤: one side is a lower bound; "
            "withheld: both sides are.",
            [row.source for row in summary.neighbourhood.published_stress],
        ),
        columns=(
            Column("platform"),
            Column("neighbours"),
            Column("against"),
            Column("ratio", numeric=True),
            Column(""),
            N,
            LEFT_OUT,
        ),
        sections=(
            *sections(summary.neighbourhood.interference, lambda row: _heading(summary, row), _ratio),
            *published_sections(summary.neighbourhood.published_stress, _stress_heading, _stress),
        ),
    )


def matrix_table(summary: Summary) -> Table:
    """Victims down, aggressors across: the ratios against idle neighbours, or else against none."""
    rows = against_rest(summary.neighbourhood.interference)
    aggressors = list(dict.fromkeys(row.aggressor for row in rows))
    grouped: dict[str, dict[tuple[str, str], dict[str, Interference]]] = {}
    for row in rows:
        heading = f"{row.metric}{_group(summary, row)}"
        grouped.setdefault(heading, {}).setdefault((row.platform, row.victim), {})[row.aggressor] = row
    return Table(
        name="interference-matrix",
        title="Effect of each neighbour on each guest",
        note=f"Ratios to idle neighbours, or to no neighbour where none was idle. {_ONE}",
        columns=(
            Column("platform"),
            Column("victim"),
            *(Column(aggressor, numeric=True) for aggressor in aggressors),
        ),
        sections=tuple(
            Section(
                heading,
                tuple(
                    (platform, victim, *(_entry(here.get(aggressor)) for aggressor in aggressors))
                    for (platform, victim), here in victims.items()
                ),
            )
            for heading, victims in grouped.items()
        ),
    )


def neighbours_table(summary: Summary) -> Table:
    """What neighbours were offered and received."""
    return Table(
        name="neighbours",
        title="The neighbours' own traffic",
        note=with_sources(
            "Means of one neighbour. Maximum: its throughput while the guest is idle; its offered load is a share of "
            "that. Delay: one-way for frames, round trip for requests.",
            [row.source for row in summary.neighbourhood.published_traffic],
        ),
        columns=(
            Column("platform"),
            Column("cell"),
            Column("maximum", "Mbit/s", numeric=True),
            Column("offered", "Mbit/s", numeric=True),
            Column("received", "Mbit/s", numeric=True),
            Column("goodput", "Mbit/s", numeric=True),
            Column("delay", "µs", numeric=True),
            N,
            LEFT_OUT,
        ),
        sections=(
            *sections(summary.neighbourhood.neighbours, lambda row: _load_heading(summary, row), _load),
            *published_sections(summary.neighbourhood.published_traffic, _traffic_heading, _traffic),
        ),
    )


def against_rest(rows: Iterable[Interference]) -> list[Interference]:
    """One row of each victim and aggressor: against idle neighbours where they were measured, and no idle ones."""
    found: dict[tuple[str, str, str, str], Interference] = {}
    for row in rows:
        if row.aggressor.rpartition(" ")[2] == IDLE:
            continue
        place = row.platform, row.metric, row.victim, row.aggressor
        if place not in found or row.reference == IDLE:
            found[place] = row
    return list(found.values())


def _group(summary: Summary, row: Interference) -> str:
    return f": {EMULATED_HEADING}" if summary.emulated(row.platform) else ""


def _heading(summary: Summary, row: Interference) -> str:
    return f"{row.metric}, {row.victim}{_group(summary, row)}"


def _ratio(row: Interference) -> tuple[str | Number, ...]:
    ratio = row.ratio
    found = "no significant difference" if ratio.includes(1.0) else "less" if ratio.value < 1 else "more"
    shown = (
        row.bound_reason
        if ratio.is_withheld
        else f"{found}: {row.bound_reason}"
        if row.bound_reason
        else found
    )
    return (
        row.platform,
        row.aggressor,
        row.reference,
        Number(row.shown, numbers.bracket(ratio, numbers.ratio)),
        shown,
        count(ratio),
        left_out(ratio.left_out),
    )


def _entry(row: Interference | None) -> Number:
    if row is None:
        return Number(UNKNOWN)
    return Number(row.shown, numbers.bracket(row.ratio, numbers.ratio))


def _stress_heading(row: PublishedStress) -> str:
    return f"maximum throughput, {row.frame_bytes}-byte frames, published ({row.section}): {row.hardware}"


def _stress(row: PublishedStress) -> tuple[str | Number, ...]:
    ratio = f"{1 + float(row.change_percent) / 100:.3f}"
    return (row.setup, row.neighbour, "none", Number(ratio), "", Number(""), Number(""))


def _load_heading(summary: Summary, row: NeighbourLoad) -> str:
    return EMULATED_HEADING if summary.emulated(row.platform) else "measured"


def _load(row: NeighbourLoad) -> tuple[str | Number, ...]:
    known = row.received_mbps or row.goodput_mbps or row.latency_mean_ns
    return (
        row.platform,
        row.cell,
        mean_number(row.maximum_mbps, numbers.mbps),
        mean_number(row.offered_mbps, numbers.mbps),
        mean_number(row.received_mbps, numbers.mbps),
        mean_number(row.goodput_mbps, numbers.mbps),
        mean_number(row.latency_mean_ns, numbers.microseconds),
        count(known),
        left_out(row.left_out),
    )


def _traffic_heading(row: PublishedTraffic) -> str:
    return f"published ({row.section}): {row.hardware}"


def _traffic(row: PublishedTraffic) -> tuple[str | Number, ...]:
    cell = f"forward at {row.load_percent}%, {row.frame_bytes}-byte frames beside it"
    blank = Number("")
    return (
        row.setup,
        cell,
        blank,
        Number(row.offered_mbps),
        Number(row.received_mbps),
        blank,
        blank,
        blank,
        blank,
    )
