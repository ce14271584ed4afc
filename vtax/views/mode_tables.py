"""Tables of campaigns whose trials decide how many there are: precision and searches."""

from __future__ import annotations

from vtax.model import numbers
from vtax.model.bound import Bound
from vtax.model.table import LEFT_OUT, UNKNOWN, Column, N, Number, Table, count, left_out, sections
from vtax.model.table import mean_number as mean
from vtax.model.table import ranged_number as ranged
from vtax.views.summary import Summary
from vtax.views.tables import heading, level_column


def precision_table(summary: Summary) -> Table:
    """Intervals that were to become narrow, and whether they did."""
    return Table(
        name="precision",
        title="Precision",
        note="Repeated until the 95% interval, valid at any stopping time, is as narrow as requested.",
        columns=(
            Column("platform"),
            level_column(summary),
            Column("received", "Mbit/s", numeric=True),
            Column("width", "%", numeric=True),
            Column("requested", "%", numeric=True),
            N,
            LEFT_OUT,
            Column(""),
        ),
        sections=sections(
            sorted(summary.precision, key=lambda row: row.setting),
            lambda row: heading(summary, row),
            lambda row: (
                row.platform,
                row.level,
                ranged(row.received_mbps, numbers.mbps),
                Number(UNKNOWN if row.width is None else numbers.ratio_as_percent(row.width)),
                Number(numbers.ratio_as_percent(row.wanted)),
                count(row.received_mbps),
                left_out(row.received_mbps.left_out),
                "reached" if row.reached else "wider",
            ),
        ),
    )


def search_table(summary: Summary) -> Table:
    """What searches found: each goal's bounds and conditional throughput."""
    return Table(
        name="searches",
        title="Loads within the loss goals",
        note="Relevant bounds and conditional throughput of RFC 9971, per stream. n counts searches; the bounds are "
        "the outermost of them. A bound that the platform did not set is marked ≥.",
        columns=(
            Column("platform"),
            Column("goal"),
            Column("loss", "%", numeric=True),
            Column("lower", "Mbit/s", numeric=True),
            Column("upper", "Mbit/s", numeric=True),
            Column("conditional", "Mbit/s", numeric=True),
            N,
            Column("trials", numeric=True),
            Column("trial time", "s", numeric=True),
            LEFT_OUT,
            Column("bounded by"),
        ),
        sections=sections(
            sorted(summary.loads.searches, key=lambda row: row.setting),
            lambda row: heading(summary, row),
            lambda row: (
                row.platform,
                row.goal,
                Number(numbers.ratio_as_percent(row.loss_ratio)),
                _load(row.lower_mbps, row.bound),
                _load(row.upper_mbps),
                mean(row.conditional_mbps, numbers.mbps),
                Number(str(row.searches)),
                Number(str(row.trials)),
                Number(f"{row.trial_s:.1f}"),
                left_out(row.left_out),
                row.bounded_by or "",
            ),
        ),
    )


def _load(mbps: float | None, bound: Bound = Bound.EXACT) -> Number:
    return Number(UNKNOWN if mbps is None else bound.sign + numbers.mbps(mbps))
