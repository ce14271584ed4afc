"""Tables of CPU time: the unit under test's by load, and where all of the machine's went."""

from __future__ import annotations

from vtax.model import numbers
from vtax.model.dimensions import load_label
from vtax.model.table import LEFT_OUT, Column, N, Table, count, left_out, sections
from vtax.model.table import mean_number as mean
from vtax.views.cpu import DOMAINS, OWNERS, CpuUse
from vtax.views.summary import Summary
from vtax.views.tables import LOAD, by_setting, heading


def cpu_table(summary: Summary) -> Table:
    """CPU by load: host total, guest threads, and the instrument's own."""
    return _cpu_table(
        summary,
        "cpu",
        "CPU",
        "Percent of one CPU. The calibrated cost belongs to the sink, not to the platform: other tables show the unit "
        "under test's time without it.",
        summary.loads.cpu,
        OWNERS,
    )


def ledger_table(summary: Summary) -> Table:
    """Where all CPU time of the machine went, by load."""
    return _cpu_table(
        summary,
        "ledger",
        "CPU ledger",
        "Time of all CPUs, sampled by their clocks, in percent of one CPU. Soft interrupts count as the host's, "
        "whichever thread they interrupt: the sink's program runs in them.",
        summary.loads.ledger,
        DOMAINS,
    )


def _cpu_table(
    summary: Summary, name: str, title: str, note: str, rows: list[CpuUse], owners: dict[str, str]
) -> Table:
    return Table(
        name=name,
        title=title,
        note=note,
        columns=(
            Column("platform"),
            LOAD,
            Column("whose"),
            Column("component"),
            Column("CPU", "%", numeric=True),
            N,
            LEFT_OUT,
        ),
        sections=sections(
            by_setting(rows),
            lambda use: heading(summary, use),
            lambda use: (
                use.platform,
                load_label(use.intended_mbps),
                owners.get(use.domain, use.domain),
                use.component,
                mean(use.percent, numbers.percent),
                count(use.percent),
                left_out(use.percent.left_out),
            ),
        ),
    )
