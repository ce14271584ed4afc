"""`vtax report`: the page of a result, or its figures as files for a paper."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vtax.commands import BROKE, ResultPath, check_parent
from vtax.inputs import InputError

if TYPE_CHECKING:
    from vtax.results import Result

REPORT = "report.html"
FIGURES = "figures"
"""Where figures are written below a result, unless a directory is named."""


class ReportFormat(StrEnum):
    """What is written."""

    HTML = "html"
    PDF = "pdf"
    SVG = "svg"
    PNG = "png"


def report(
    result: ResultPath,
    directory: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Output directory; by default the result's.")
    ] = None,
    form: Annotated[
        ReportFormat, typer.Option("--format", help="The page, or each figure as a file for a paper.")
    ] = ReportFormat.HTML,
) -> int:
    """Write the report of a result again, or its figures as files, and print their paths."""
    from vtax.results import Result

    opened = Result.open(result)
    if directory is not None:
        if directory.exists() and not directory.is_dir():
            raise InputError(f"{directory}: is a file; name a directory to write into")
        check_parent(directory)
    if form is ReportFormat.HTML:
        written = write_report(opened, directory)
        if written is None:
            return BROKE
        print(written)
        return 0
    return _write_figures(opened, form, directory or opened.directory / FIGURES)


def write_report(result: "Result", directory: Path | None = None) -> Path | None:
    """Write the report; where the disk refuses, say so and that nothing else is lost by it."""
    from vtax import views

    try:
        if directory is not None:
            directory.mkdir(exist_ok=True)
        return views.write_report(result, directory)
    except OSError as error:
        where = (directory or result.directory) / REPORT
        print(
            f"{where}: {error.strerror}; all trials are kept: vtax show {result.directory}. To write the report "
            f"when the directory is writable: vtax report {result.directory}",
            file=sys.stderr,
        )
    return None


def _write_figures(result: "Result", form: ReportFormat, directory: Path) -> int:
    from vtax.views import summarise
    from vtax.views.export.figures import write_figures

    try:
        written = write_figures(summarise(result), form.value, directory)
    except OSError as error:
        print(f"{error.filename or directory}: {error.strerror}; no figure is written", file=sys.stderr)
        return BROKE
    print(*written, sep="\n")
    return 0
