"""Views of a result: on the terminal, as JSON, as a report. They only read results.

Every view takes a Result, or the Summary of one where several views of it are wanted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from vtax.results import Result
from vtax.views.console import print_summary
from vtax.views.document import summary_document
from vtax.views.figures import check_figures, figure_names
from vtax.views.report import write_page
from vtax.views.summary import Summary, summarise

__all__ = ["Summary", "as_json", "check_figures", "figure_names", "show", "summarise", "write_report"]


def show(what: Result | Summary, console: Console) -> None:
    """Print tables, caveats and a sentence a platform."""
    print_summary(_summary(what), console)


def as_json(what: Result | Summary) -> dict[str, Any]:
    """All view data as JSON values, units in the names."""
    return summary_document(_summary(what))


def write_report(what: Result | Summary) -> Path:
    """Write `report.html` into the result's directory, replacing an older one in one step; its path.

    Raises:
        InputError: the scenario asks for an unknown figure.
    """
    return write_page(_summary(what))


def _summary(what: Result | Summary) -> Summary:
    return what if isinstance(what, Summary) else summarise(what)
