"""Views of a result: on the terminal, as JSON, as a report. They only read results."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from vtax.results import Result
from vtax.views.console import print_summary
from vtax.views.document import summary_document
from vtax.views.figures import check_figures, figure_names
from vtax.views.report import write_report
from vtax.views.summary import summarise

__all__ = ["as_json", "check_figures", "figure_names", "show", "write_report"]


def show(result: Result, console: Console) -> None:
    """Print tables, caveats and a sentence a platform."""
    print_summary(summarise(result), console)


def as_json(result: Result) -> dict[str, Any]:
    """All view data as JSON values, units in the names."""
    return summary_document(summarise(result))
