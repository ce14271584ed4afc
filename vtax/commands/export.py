"""`vtax export`: a result for other programs."""

import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vtax.commands import ResultPath, check_parent, output_file
from vtax.inputs import InputError

if TYPE_CHECKING:
    from vtax.results import Result
    from vtax.views.served import Served


class ExportFormat(StrEnum):
    """What a result is written as."""

    CSV = "csv"
    JSON = "json"
    OPENMETRICS = "openmetrics"


def export(
    result: ResultPath,
    export_format: Annotated[
        ExportFormat,
        typer.Option(
            "--format", help="csv: one file per table; json: everything; openmetrics: the means of each cell."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="csv: a new or empty directory; else a file, by default stdout.")
    ] = None,
) -> None:
    """Write a result for other programs; list on stderr what could not be read."""
    from vtax.confinement.reading import confine, writing_directory

    if export_format is ExportFormat.CSV:
        if out is None:
            raise InputError("--format csv writes a file a table: name a new directory with --out")
        check_parent(out)
        with writing_directory([result], out):
            _write_csv(result, out)
    elif out is None:
        confine([result])
        sys.stdout.writelines(_pieces(result, export_format))
    else:
        with output_file([result], out, "--out") as write:
            write(piece.encode() for piece in _pieces(result, export_format))
        print(out)


def _opened(result: Path, served: "Served | None" = None) -> "Result":
    from vtax.results import Result

    opened = Result.open(result)
    if served is not None:
        served.check(opened)
    for caution in (*opened.damaged, *opened.notes):
        print(caution, file=sys.stderr)
    return opened


def _write_csv(result: Path, out: Path) -> None:
    from vtax.views.export import write_csv_files

    for path in write_csv_files(_opened(result), out):
        print(path)


def _pieces(result: Path, export_format: ExportFormat) -> Iterator[str]:
    from vtax.views.export import OPENMETRICS, openmetrics, tables_document

    if export_format is ExportFormat.JSON:
        yield from tables_document(_opened(result))
    else:
        yield from openmetrics(_opened(result, OPENMETRICS))
