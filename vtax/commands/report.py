"""`vtax report`: the page of a result, or its figures as files for a paper."""

import sys
from contextlib import ExitStack
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
    if directory is not None:
        if directory.exists() and not directory.is_dir():
            raise InputError(f"{directory}: is a file; name a directory to write into")
        check_parent(directory)
    if form is ReportFormat.HTML:
        return _write_page(result, directory)
    return _write_figures(result, form, directory or result / FIGURES)


def _write_page(result: Path, directory: Path | None) -> int:
    from vtax.confinement.reading import confine, writing_file

    target = (directory or result) / REPORT
    with ExitStack() as stack:
        try:
            outlet = stack.enter_context(writing_file([result], target, in_new=directory is not None))
        except OSError as error:
            refused, outlet = error, None
            confine([result])
        from vtax.results import Result
        from vtax.views import report_page

        opened = Result.open(result)
        if outlet is None:
            return _refuse(target, refused, result)
        page = report_page(opened)
        try:
            outlet.put([page.encode()])
        except OSError as error:
            return _refuse(target, error, result)
    print(target)
    return 0


def write_report(result: "Result", directory: Path | None = None) -> Path | None:
    """Write the report; where the disk refuses, say so and that nothing else is lost by it."""
    from vtax import views

    try:
        if directory is not None:
            directory.mkdir(exist_ok=True)
        return views.write_report(result, directory)
    except OSError as error:
        _refuse((directory or result.directory) / REPORT, error, result.directory)
    return None


def _refuse(target: Path, error: OSError, result: Path) -> int:
    """Say that the report could not be written and how it is written again; return the exit status."""
    print(
        f"{target}: {error.strerror}; all trials are kept: vtax show {result}. To write the report "
        f"when the directory is writable: vtax report {result}",
        file=sys.stderr,
    )
    return BROKE


def _write_figures(result: Path, form: ReportFormat, directory: Path) -> int:
    from vtax.confinement.reading import writing_directory

    with writing_directory([result], directory, browser=True):
        from vtax.results import Result
        from vtax.views import summarise
        from vtax.views.export.figures import write_figures

        summary = summarise(Result.open(result))
        try:
            written = write_figures(summary, form.value, directory)
        except OSError as error:
            print(f"{error.filename or directory}: {error.strerror}; no figure is written", file=sys.stderr)
            return BROKE
    print(*written, sep="\n")
    return 0
