"""What a report says, chapter by chapter: the tax on its first screen, and all other tables below the figures."""

from __future__ import annotations

from dataclasses import dataclass

from vtax.model import catalogue as model
from vtax.model.table import Table
from vtax.views import cpu_tables, mode_tables, sharing_tables, tables, tax_tables, verdict_tables
from vtax.views.cell_tables import added_tables, cell_tables
from vtax.views.claims.table import claim_tables, outcome, reading
from vtax.views.interference_tables import interference_table, matrix_table, neighbours_table
from vtax.views.message_tables import message_sockets_table, messages_table
from vtax.views.published_table import published_table
from vtax.views.rounds_table import artifacts_table, ladder_table, rounds_table, run_time_table
from vtax.views.routers_table import routers_table
from vtax.views.stage_tables import packets_table, stages_table, tracing_table
from vtax.views.summary import Summary


@dataclass(frozen=True)
class Chapter:
    """Tables under one heading; `name` is its anchor, `entry` what the contents call it."""

    name: str
    entry: str
    title: str
    tables: tuple[Table, ...]
    note: str = ""


def tax_chapter(summary: Summary) -> Chapter:
    """What the platforms cost, as the kind of workload has it; without tables where nothing was compared."""
    found = _filled(
        mode_tables.search_table(summary),
        tax_tables.tax_of_maximum(summary),
        tax_tables.tax_by_load(summary),
        *added_tables(summary),
        sharing_tables.efficiency_table(summary),
        messages_table(summary),
        *cell_tables(summary, model.Chapter.TAX),
        rounds_table(summary),
        interference_table(summary),
    )
    return Chapter("tax", "Tax", "The tax", found, tables.LEGEND)


def chapters(summary: Summary) -> list[Chapter]:
    """Those that have a table, in the order of the page."""
    found = (
        Chapter(
            "ledger",
            "CPU ledger",
            "CPU time by owner",
            _filled(
                sharing_tables.guest_cpu_table(summary),
                sharing_tables.guests_table(summary),
                cpu_tables.cpu_table(summary),
                cpu_tables.ledger_table(summary),
                *cell_tables(summary, model.Chapter.LEDGER),
            ),
        ),
        Chapter("hops", "Hops", "Frame loss", _filled(tables.loss_table(summary))),
        Chapter(
            "stages",
            "Stages",
            "Packet delay",
            _filled(stages_table(summary), packets_table(summary), tracing_table(summary)),
        ),
        Chapter(
            "artifacts",
            "Artifacts",
            "Timing artifacts",
            _filled(artifacts_table(summary), ladder_table(summary), run_time_table(summary)),
        ),
        Chapter(
            "claims",
            "Claims",
            "Findings of the paper on this machine",
            tuple(claim_tables(summary.claims)),
            f"{outcome(summary.claims)}. {reading(summary.claims)}",
        ),
        Chapter("numbers", "Numbers", "All other numbers", _numbers(summary)),
        Chapter(
            "verdicts",
            "Verdicts",
            "Verdicts of the trials",
            _filled(verdict_tables.verdict_table(summary), verdict_tables.left_out_table(summary)),
        ),
    )
    return [chapter for chapter in found if chapter.tables]


def _numbers(summary: Summary) -> tuple[Table, ...]:
    return _filled(
        tax_tables.tax_of_maximum(summary, emulated=True),
        tax_tables.tax_by_load(summary, emulated=True),
        *added_tables(summary, emulated=True),
        mode_tables.precision_table(summary),
        sharing_tables.goodput_table(summary),
        sharing_tables.scaling_table(summary),
        published_table(summary),
        matrix_table(summary),
        neighbours_table(summary),
        *cell_tables(summary, model.Chapter.NUMBERS),
        tables.stream_table(summary),
        routers_table(summary),
        message_sockets_table(summary),
    )


def _filled(*candidates: Table) -> tuple[Table, ...]:
    return tuple(table for table in candidates if table.size)
