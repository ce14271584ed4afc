"""The report: one HTML file that needs no network, no other file, and for its numbers no JavaScript."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from vtax.model.platform import EMULATED_LABEL
from vtax.results.stored import listed, mapping
from vtax.views.chapters import Chapter, chapters, tax_chapter
from vtax.views.facts import fact_in_words, part_in_words, structured
from vtax.views.figure import Figure
from vtax.views.figures import draw_figures
from vtax.views.library import plotly_js
from vtax.views.page import Drawn, columns, inline, moment, plot_json, script_json, template, write_file
from vtax.views.palette import styles
from vtax.views.summary import Summary
from vtax.views.trials import embedded

NAME = "report.html"
OPEN_ROWS, MOST_ROWS = 24, 120
"""A table with more rows than this starts closed; on the first screen, where long ones scroll, with more than that."""
GROUPS = {
    "reference": "Reference",
    "native": "Against the reference",
    "emulated": EMULATED_LABEL,
    "skipped": "Skipped",
}


def write_page(summary: Summary, directory: Path | None = None) -> Path:
    """Write `report.html` into `directory`, by default the result's, replacing an older one in one step; its path."""
    target = (directory or summary.directory) / NAME
    write_file(target, render(summary))
    return target


def render(summary: Summary) -> str:
    """The report's HTML. Everything that comes from a result is escaped."""
    figures = [figure for figure in draw_figures(summary) if figure.panels]
    found = chapters(summary)
    behind = summary.trials.numbers
    plots = {
        _plot_id(figure, i): _referring(plot_json(panel.plot), behind)
        for figure in figures
        for i, panel in enumerate(figure.panels)
    }
    own = ["trials.js", "report.js", *(["plots.js"] if figures else [])]
    return template("report.html").render(
        inline=inline(own, plotly_js(plots)) if figures else inline(own),
        summary=summary,
        origin=summary.provenance,
        style=styles(summary.platforms),
        groups=GROUPS,
        tax=tax_chapter(summary),
        figures=figures,
        chapters=found,
        contents=_contents(summary, figures, found),
        measured=[platform for platform in summary.platforms if not platform.skipped_reason],
        behind=behind,
        trials=script_json(embedded(summary.trials)),
        plots=script_json(plots),
        command=shlex.join(summary.provenance.command),
        open_rows=OPEN_ROWS,
        most_rows=MOST_ROWS,
        plot_id=_plot_id,
        text=fact_in_words,
        part=part_in_words,
        structured=structured,
        columns=columns,
        spans=_spans,
        moment=moment,
    )


def _contents(summary: Summary, figures: Sequence[Figure], found: Sequence[Chapter]) -> list[tuple[str, str]]:
    """(anchor, entry) of every part, in the page's order."""
    return [
        ("answer", "Answer"),
        ("care", "Caveats"),
        *([("figures", "Figures")] if figures else []),
        *([("why", "Causes")] if summary.diagnosis.compared else []),
        *((chapter.name, chapter.entry) for chapter in found),
        ("environment", "Environment"),
        ("repeat", "Repeat"),
    ]


def _referring(plot: Drawn, behind: Mapping[str, int]) -> Drawn:
    """A plot whose traces refer to the embedded trials instead of to cells' keys."""
    for trace in plot["data"]:
        if "customdata" in trace:
            trace["customdata"] = [behind.get(str(key)) for key in listed(trace["customdata"])]
        if "key" in (meta := mapping(trace.get("meta"))):
            trace["meta"] = {"trials": behind.get(str(meta["key"]))}
    return plot


def _plot_id(figure: Figure, index: int) -> str:
    return f"plot-{figure.name}-{index}"


def _spans(sentence: str) -> list[tuple[str, bool]]:
    """A sentence in parts, True for what stands in brackets and can be set softer.

    That brackets hold 95% intervals is said once, above.
    """
    parts = re.split(r"(\([^()]*\))", sentence)
    return [(part.replace("(95% interval ", "("), part.startswith("(")) for part in parts if part]
