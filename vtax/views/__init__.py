"""Views of a result: on the terminal, as JSON, as a report. They only read results.

Every view takes a Result, or the Summary of one where several views of it are wanted.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import JsonValue
from rich.console import Console

from vtax.documents.show import Show
from vtax.results import Result
from vtax.views.console import print_diagnosis, print_summary
from vtax.views.diagnosis import DIAGNOSIS, Diagnosis, diagnose
from vtax.views.diagnosis.document import diagnosis_document
from vtax.views.document import summary_document
from vtax.views.figures import check_figures, figure_names
from vtax.views.provenance import read_provenance
from vtax.views.report import render, write_page
from vtax.views.summary import Summary, summarise

__all__ = [
    "Diagnosis",
    "Summary",
    "as_json",
    "check_figures",
    "diagnosis_as_json",
    "diagnosis_of",
    "document_of",
    "figure_names",
    "report_page",
    "show",
    "show_diagnosis",
    "summarise",
    "write_report",
]


def show(what: Result | Summary, console: Console) -> None:
    """Print tables, caveats and a sentence a platform."""
    print_summary(what if isinstance(what, Summary) else summarise(what, with_claims=False), console)


def as_json(what: Result | Summary) -> dict[str, JsonValue]:
    """All view data as JSON values, units in the names."""
    return document_of(what).as_json()


def document_of(what: Result | Summary) -> Show:
    """Return the document of `vtax show`."""
    return summary_document(_summary(what))


def write_report(what: Result | Summary, directory: Path | None = None) -> Path:
    """Write `report.html` into a directory, by default the result's, replacing an older one in one step; its path.

    Raises:
        InputError: the scenario asks for an unknown figure.
    """
    return write_page(_summary(what), directory)


def report_page(result: Result) -> str:
    """Return the report's HTML. InputError where the scenario asks for an unknown figure."""
    return render(summarise(result))


def diagnosis_of(result: Result) -> Diagnosis:
    """Why cells lost throughput or time against their references. InputError for a kind that is not diagnosed."""
    return diagnose(DIAGNOSIS.check(result), read_provenance(result))


def show_diagnosis(diagnosis: Diagnosis, console: Console) -> None:
    """Print a sentence a cell that lost something, and what could not be compared."""
    print_diagnosis(diagnosis, console)


def diagnosis_as_json(diagnosis: Diagnosis) -> dict[str, JsonValue]:
    """Return the document of `vtax diagnose`."""
    return diagnosis_document(diagnosis).as_json()


def _summary(what: Result | Summary) -> Summary:
    return what if isinstance(what, Summary) else summarise(what)
