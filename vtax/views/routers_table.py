"""Rate and loss a router, beside a plain router's and what the repeated paper prints."""

from __future__ import annotations

from vtax.documents.show.published import PublishedRate
from vtax.model import numbers
from vtax.model.dimensions import load_label
from vtax.model.frames import frame_levels
from vtax.model.published import with_sources
from vtax.model.table import (
    LEFT_OUT,
    UNKNOWN,
    Column,
    N,
    Number,
    Table,
    count,
    left_out,
    mean_number,
    published_sections,
    sections,
)
from vtax.views.routers import RouterRate
from vtax.views.summary import Summary
from vtax.views.tables import EMULATED_HEADING, LOAD


def routers_table(summary: Summary) -> Table:
    """A row a platform and number of routers, then the paper's on its own hardware."""
    rates = sorted(
        summary.loads.routers,
        key=lambda rate: (frame_levels(rate.setting).frames, summary.emulated(rate.platform)),
    )
    return Table(
        name="routers",
        title="Routers behind one uplink",
        note=with_sources(
            "Frames per second that each router forwards, and the share lost of those sent to it: means over the "
            "routers. raw with one guest is a plain router.",
            [row.source for row in summary.loads.published_routers],
        ),
        columns=(
            Column("platform"),
            Column("guests", numeric=True),
            LOAD,
            Column("a router", "frames/s", numeric=True),
            Column("lost", "%", numeric=True),
            N,
            LEFT_OUT,
        ),
        sections=(
            *sections(rates, lambda rate: _heading(summary, rate), _measured),
            *published_sections(summary.loads.published_routers, _published_heading, _published),
        ),
    )


def _heading(summary: Summary, rate: RouterRate) -> str:
    return frame_levels(rate.setting).frames + (
        f": {EMULATED_HEADING}" if summary.emulated(rate.platform) else ""
    )


def _measured(rate: RouterRate) -> tuple[str | Number, ...]:
    return (
        rate.platform,
        Number(str(frame_levels(rate.setting).streams)),
        load_label(rate.intended_mbps),
        mean_number(rate.received_fps, numbers.whole),
        mean_number(rate.loss_ratio, numbers.ratio_as_percent),
        count(rate.received_fps),
        left_out(rate.received_fps.left_out),
    )


def _published_heading(row: PublishedRate) -> str:
    return f"{row.packet_bytes}-byte packets, published ({row.section}): {row.hardware}"


def _published(row: PublishedRate) -> tuple[str | Number, ...]:
    rate = numbers.whole(float(row.packets_per_s)) if row.packets_per_s else UNKNOWN
    lost = Number(row.loss_percent or UNKNOWN)
    return (row.setup, Number(row.guests), "max", Number(rate), lost, Number(""), Number(""))
