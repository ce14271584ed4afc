"""`vtax export`: a result for other programs."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from vtax.commands import ResultPath, check_parent
from vtax.inputs import InputError


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
    from vtax.results import Result
    from vtax.views.export import OPENMETRICS, openmetrics, tables_document, write_csv_files

    if export_format is ExportFormat.CSV and out is None:
        raise InputError("--format csv writes a file a table: name a new directory with --out")
    opened = Result.open(result)
    if export_format is ExportFormat.OPENMETRICS:
        OPENMETRICS.check(opened)
    for caution in (*opened.damaged, *opened.notes):
        print(caution, file=sys.stderr)
    if out is not None and export_format is ExportFormat.CSV:
        check_parent(out)
        for path in write_csv_files(opened, out):
            print(path)
        return
    pieces = tables_document(opened) if export_format is ExportFormat.JSON else openmetrics(opened)
    if out is None:
        sys.stdout.writelines(pieces)
        return
    try:
        with out.open("w", encoding="utf-8") as file:
            file.writelines(pieces)
    except OSError as error:
        raise InputError(f"--out: {out}: {error.strerror}; name a file that can be written") from None
    print(out)
