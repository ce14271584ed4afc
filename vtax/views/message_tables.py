"""Goodput over the length of messages, and what sockets held meanwhile, beside what the repeated paper says."""

from __future__ import annotations

from collections.abc import Sequence

from vtax.documents.show.published import PublishedGoodput
from vtax.model import numbers
from vtax.model.published import with_sources
from vtax.model.table import (
    LEFT_OUT,
    UNKNOWN,
    Column,
    Entry,
    N,
    Number,
    Section,
    Table,
    count,
    left_out,
    mean_number,
    published_sections,
    ranged_number,
    sections,
)
from vtax.views.messages import MessageGoodput
from vtax.views.summary import Summary
from vtax.views.tables import heading

MESSAGE = Column("message", "byte")
GOODPUT, RATIO = "goodput", "ratio"
"""Quantities as the published ones are named."""


def messages_table(summary: Summary) -> Table:
    """A row a platform and length: the goodput, the repetitions' standard deviation, and the reference's share."""
    return Table(
        name="messages",
        title="Goodput by message",
        note=with_sources(
            "Layer-4 payload of one stream over the repetitions, with its 95% interval; s.d. is their standard "
            "deviation. Of link: share of the goodput of a full link. Ratio: to raw, the bare hosts, paired within "
            "blocks; for emulated platforms, to the first of them.",
            [row.source for row in summary.streams.published_goodput],
        ),
        columns=(
            Column("platform"),
            MESSAGE,
            Column("goodput", "Mbit/s", numeric=True),
            Column("s.d.", "Mbit/s", numeric=True),
            Column("of link", "%", numeric=True),
            Column("ratio", numeric=True),
            N,
            LEFT_OUT,
        ),
        sections=(
            *sections(
                summary.streams.messages,
                lambda row: heading(summary, row),
                lambda row: (
                    row.platform,
                    length_label(row),
                    mean_number(row.goodput_mbps, numbers.mbps),
                    Number(UNKNOWN if row.deviation_mbps is None else numbers.mbps(row.deviation_mbps)),
                    mean_number(row.of_link, numbers.ratio_as_percent),
                    ranged_number(row.ratio, numbers.ratio),
                    count(row.goodput_mbps),
                    left_out(row.goodput_mbps.left_out),
                ),
            ),
            *_published(summary),
        ),
    )


def message_sockets_table(summary: Summary) -> Table:
    """What the sockets may hold, what their transport sent again, and the CPU time that it took."""
    return Table(
        name="message-sockets",
        title="Buffers, retransmissions and CPU by message",
        note="Buffers are read at the end of a trial and include the kernel's bookkeeping: twice the requested size. "
        "Retransmissions are TCP segments, or SCTP chunks, per trial. CPU is the busy time of the CPUs of the guest "
        "and its host, 100 = one CPU. A soft interrupt counts on the CPU that runs it: for a sender of raw mostly at "
        "the far host.",
        columns=(
            Column("platform"),
            MESSAGE,
            Column("send buffer", "byte", numeric=True),
            Column("receive buffer", "byte", numeric=True),
            Column("sent again", numeric=True),
            Column("CPU", "%", numeric=True),
            N,
            LEFT_OUT,
        ),
        sections=sections(
            summary.streams.messages,
            lambda row: heading(summary, row),
            lambda row: (
                row.platform,
                length_label(row),
                mean_number(row.send_buffer_bytes, numbers.whole),
                mean_number(row.receive_buffer_bytes, numbers.whole),
                mean_number(row.retransmissions, numbers.mbps),
                mean_number(row.host_percent, numbers.percent),
                count(row.goodput_mbps),
                left_out(row.goodput_mbps.left_out),
            ),
        ),
    )


def length_label(row: MessageGoodput) -> str:
    """The length of messages in a table."""
    return "default" if row.message_bytes is None else str(row.message_bytes)


def _published(summary: Summary) -> tuple[Section, ...]:
    """What the paper says, which prints no number."""

    def cells(row: PublishedGoodput) -> Sequence[Entry]:
        said = {row.quantity: Number(row.text)}
        nothing = Number("")
        return (
            row.setup,
            row.messages,
            said.get(GOODPUT, nothing),
            nothing,
            nothing,
            said.get(RATIO, nothing),
            nothing,
            nothing,
        )

    return published_sections(
        summary.streams.published_goodput,
        lambda row: (
            f"{row.transport} {row.placement}, {row.buffers} buffers, published ({row.section}): {row.hardware}"
        ),
        cells,
    )
