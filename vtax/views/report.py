"""The report: one HTML file that needs no network, no other file, and for its numbers no JavaScript."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

from vtax.views import mode_tables, sharing_tables, tables, tax_tables
from vtax.views.claims.table import claim_tables, outcome, reading
from vtax.views.echoes_table import echoes_table
from vtax.views.figure import Figure
from vtax.views.figures import draw_figures
from vtax.views.interference_tables import interference_table, matrix_table, neighbours_table
from vtax.views.layout import Table
from vtax.views.message_tables import message_sockets_table, messages_table
from vtax.views.page import columns, moment, plot_json, plotly_js, script_json, template, write_file
from vtax.views.palette import styles
from vtax.views.published_table import published_table
from vtax.views.responses_table import (
    added_times_table,
    response_cpu_table,
    response_quantiles_table,
    responses_table,
)
from vtax.views.rounds_table import artifacts_table, ladder_table, rounds_table, run_time_table
from vtax.views.routers_table import routers_table
from vtax.views.stage_tables import packets_table, stages_table, tracing_table
from vtax.views.summary import Summary

OPEN_ROWS = 24
"""A table with more rows than this starts closed."""


def write_page(summary: Summary) -> Path:
    """Write `report.html` into the result's directory, replacing an older one in one step; its path."""
    target = summary.directory / "report.html"
    write_file(target, render(summary))
    return target


def render(summary: Summary) -> str:
    """The report's HTML. Everything that comes from a result is escaped."""
    figures = [figure for figure in draw_figures(summary) if figure.panels]
    return template("report.html").render(
        summary=summary,
        origin=summary.provenance,
        style=styles(summary.platforms),
        tax=_filled(
            tax_tables.tax_of_maximum(summary),
            tax_tables.tax_by_load(summary),
            added_times_table(summary),
        ),
        asked=_filled(mode_tables.search_table(summary), mode_tables.precision_table(summary)),
        emulated_tax=_filled(
            tax_tables.tax_of_maximum(summary, emulated=True),
            tax_tables.tax_by_load(summary, emulated=True),
            added_times_table(summary, emulated=True),
        ),
        shared=_filled(
            sharing_tables.goodput_table(summary),
            sharing_tables.efficiency_table(summary),
            sharing_tables.scaling_table(summary),
            sharing_tables.guest_cpu_table(summary),
            published_table(summary),
            echoes_table(summary),
        ),
        streamed=_filled(messages_table(summary)),
        beside=_filled(interference_table(summary), matrix_table(summary), neighbours_table(summary)),
        timed=_filled(responses_table(summary), response_quantiles_table(summary)),
        traced=_filled(stages_table(summary), packets_table(summary)),
        rounds=_filled(
            rounds_table(summary),
            run_time_table(summary),
            ladder_table(summary),
            artifacts_table(summary),
        ),
        claims=claim_tables(summary.claims),
        claims_note=f"{outcome(summary.claims)}. {reading(summary.claims)}",
        details=_filled(
            sharing_tables.guests_table(summary),
            tables.stream_table(summary),
            routers_table(summary),
            response_cpu_table(summary),
            tracing_table(summary),
            message_sockets_table(summary),
            tables.loss_table(summary),
            tables.cpu_table(summary),
            tables.ledger_table(summary),
            tables.verdict_table(summary),
            tables.left_out_table(summary),
        ),
        figures=figures,
        plots=script_json(
            {
                _plot_id(figure, i): plot_json(panel.plot)
                for figure in figures
                for i, panel in enumerate(figure.panels)
            }
        ),
        plotly=plotly_js() if figures else "",
        legend=tables.LEGEND,
        sharing_legend=sharing_tables.LEGEND,
        command=shlex.join(summary.provenance.command),
        open_rows=OPEN_ROWS,
        plot_id=_plot_id,
        text=_text,
        columns=columns,
        spans=_spans,
        moment=moment,
    )


def _filled(*candidates: Table) -> list[Table]:
    return [table for table in candidates if table.size]


def _plot_id(figure: Figure, index: int) -> str:
    return f"plot-{figure.name}-{index}"


def _spans(sentence: str) -> list[tuple[str, bool]]:
    """A sentence in parts, True for what stands in brackets and can be set softer."""
    return [(part, part.startswith("(")) for part in re.split(r"(\([^()]*\))", sentence) if part]


def _text(value: Any) -> str:
    """A fact of the environment as text; structured ones as JSON."""
    if value is None:
        return "unknown"
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
