"""`vtax merge`: the blocks that several testbeds have measured of a campaign as one result."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from vtax.inputs import InputError


def merge(
    results: Annotated[
        list[str],
        typer.Argument(metavar="NAME=RESULT...", help="The name of each testbed and its result."),
    ],
    out: Annotated[Path, typer.Option(help="A new or empty directory.")],
) -> None:
    """Merge the blocks of a campaign that several testbeds measured; no mean mixes two testbeds."""
    from vtax.results import Delivered, DiskError
    from vtax.results import merge as merge_results
    from vtax.results.files import disk_error

    parts = []
    for text in results:
        name, separator, directory = text.rpartition("=")
        if separator and not name:
            raise InputError(f'"{text}": the name of a testbed comes before "="')
        parts.append(Delivered.open(Path(directory), name or None))
    try:
        notes = merge_results(parts, out)
    except DiskError as error:
        raise disk_error(error.refused, f"make room, remove {out} and merge again") from error
    for note in notes:
        print(note, file=sys.stderr)
    print(out)
