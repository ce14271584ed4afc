"""The tables of traced trials: delay by stage, single packets, and what following packets took."""

from __future__ import annotations

from collections.abc import Sequence

from vtax.documents.show.published import PublishedMoment
from vtax.model import numbers
from vtax.model.published import with_sources
from vtax.model.table import (
    LEFT_OUT,
    UNKNOWN,
    Column,
    Entry,
    N,
    Number,
    Table,
    count,
    left_out,
    mean_number,
    published_sections,
    ranged_number,
    sections,
)
from vtax.views.packets import PacketMoment
from vtax.views.stages import StageDelay, TracedCell
from vtax.views.summary import Summary
from vtax.views.tables import heading

PACKETS = Column("packets", numeric=True)
HOSTS = {"uut": "host under test", "source": "far host"}
"""Hosts of the testbed as people read them."""
TAKEN = "Times are those of packets that passed a whole path: the means of its stages add up to its total."


def stages_table(summary: Summary) -> Table:
    """A section a setting and platform: the stages of each host and direction, in the order of the way."""
    return Table(
        name="stages",
        title="Delay by stage",
        note=with_sources(
            f"{TAKEN} Quantiles are those of a typical repetition; unattributed is the mean part of the delay or "
            "response time that is in no stage.",
            [row.source for row in summary.tracing.published_stages],
        ),
        columns=(
            Column("stage"),
            Column("host"),
            Column("mean", "µs", numeric=True),
            *(Column(name, "µs", numeric=True) for name in ("p50", "p90", "p99")),
            PACKETS,
            N,
            LEFT_OUT,
        ),
        sections=(
            *sections(summary.tracing.stages, lambda row: f"{heading(summary, row)}, {row.platform}", _stage),
            *published_sections(
                summary.tracing.published_stages,
                lambda row: f"published: {row.setup}, {row.hardware}",
                lambda row: (
                    row.stage,
                    f"{row.guests} guest{'' if row.guests == '1' else 's'}: {row.finding} ({row.section})",
                    *[Number("")] * 7,
                ),
            ),
        ),
    )


def packets_table(summary: Summary) -> Table:
    """A typical packet of each way, hook by hook, then the published one (oljira2016, Table I)."""
    first = {row.platform: row.setting for row in reversed(summary.tracing.packets)}
    rows = [row for row in summary.tracing.packets if row.setting == first[row.platform]]
    return Table(
        name="packets",
        title="Path of one packet",
        note="Of each path, the recorded packet with the median total time, in a platform's first setting. "
        "Published times are from other hardware, and exact to 10 µs.",
        columns=(
            Column("hook"),
            Column("interface"),
            Column("since the first", "µs", numeric=True),
            Column("took", "µs", numeric=True),
            Column("stage"),
        ),
        sections=(
            *sections(rows, lambda row: f"{heading(summary, row)}, {row.platform}: {row.path}", _moment),
            *published_sections(
                summary.tracing.published_packets,
                lambda row: f"published: VMware ESXi 6.0, {row.direction} (Table I)",
                _published,
            ),
        ),
    )


def tracing_table(summary: Summary) -> Table:
    """How many packets were followed, how many were lost sight of, and what it took."""
    return Table(
        name="tracing",
        title="Packets followed",
        note="Strayed: seen, but on no complete path, because dropped or addressed elsewhere. Traced trials are in no "
        "table of throughput, response time or CPU. A hook's time is that of its program. The increase of the median "
        "delay or response time needs trials without tracing (`trace: [none, stages]`).",
        columns=(
            Column("platform"),
            PACKETS,
            Column("strayed", numeric=True),
            Column("lost by the trace", numeric=True),
            Column("a hook takes", "ns", numeric=True),
            Column("adds to the median", "µs", numeric=True),
            Column("trials", numeric=True),
            LEFT_OUT,
        ),
        sections=sections(summary.tracing.traced, lambda row: heading(summary, row), _followed),
    )


def _stage(row: StageDelay) -> Sequence[Entry]:
    form = numbers.microseconds
    quantiles = (row.p50_ns, row.p90_ns, row.p99_ns)
    return (
        f"{row.direction} {row.stage}",
        HOSTS.get(row.host or "", row.host or ""),
        mean_number(row.mean_ns, form),
        *(Number(UNKNOWN if found is None else form(found.value)) for found in quantiles),
        Number(numbers.whole(int(row.packets))),
        count(row.mean_ns),
        left_out(row.mean_ns.left_out),
    )


def _moment(row: PacketMoment) -> Sequence[Entry]:
    return (
        row.function,
        row.interface,
        Number(numbers.microseconds(row.since_ns)),
        Number(numbers.microseconds(row.took_ns) if row.stage else ""),
        row.stage or "",
    )


def _published(row: PublishedMoment) -> Sequence[Entry]:
    took = numbers.microseconds(row.took_ns) if row.stage else ""
    return (row.function, "", Number(numbers.microseconds(row.since_ns)), Number(took), row.stage)


def _followed(row: TracedCell) -> Sequence[Entry]:
    return (
        row.platform,
        *(Number(numbers.whole(each)) for each in (row.packets, row.strayed, row.lost)),
        Number(UNKNOWN if row.hook_ns is None else numbers.whole(row.hook_ns)),
        ranged_number(row.added_ns, numbers.signed(numbers.microseconds)),
        Number(str(row.recorded)),
        left_out(row.left_out),
    )
