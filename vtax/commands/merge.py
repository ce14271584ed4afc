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
    from vtax.confinement.reading import writing_directory

    named = []
    for text in results:
        name, separator, directory = text.rpartition("=")
        if separator and not name:
            raise InputError(f'"{text}": the name of a testbed comes before "="')
        named.append((Path(directory), name or None))
    with writing_directory([directory for directory, _ in named], out):
        for note in _merged(named, out):
            print(note, file=sys.stderr)
    print(out)


def _merged(named: list[tuple[Path, str | None]], out: Path) -> list[str]:
    from vtax.results import Delivered, DiskError
    from vtax.results import merge as merge_results
    from vtax.results.files import disk_error

    try:
        return merge_results([Delivered.open(directory, name) for directory, name in named], out)
    except DiskError as error:
        raise disk_error(error.refused, f"make room, remove {out} and merge again") from error
