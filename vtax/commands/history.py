"""`vtax history`: many campaigns over time."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from vtax.commands import Json, output_file
from vtax.inputs import InputError
from vtax.listing import print_json


def history(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Directory with the results anywhere below it.")
    ],
    within: Annotated[
        float, typer.Option(metavar="PERCENT", help="Ignore changes of level within this.")
    ] = 5.0,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File of the page; by default DIR/history.html.")
    ] = None,
    json: Json = False,
) -> None:
    """Find changes of level in the metrics of all campaigns below a directory, and write a page of them."""
    if not 0 <= within < 100:
        raise InputError(f"--within: {within:g} is not 0 or more and less than 100 percent")
    if not directory.is_dir():
        raise InputError(f"{directory}: no such directory; name one that results lie below")
    target = out or directory / "history.html"
    with output_file([directory], target, "--out") as write:
        from vtax.terminal import table_console
        from vtax.views.history import read_history
        from vtax.views.history.document import history_document
        from vtax.views.history.page import history_page
        from vtax.views.history.terminal import print_history

        found = read_history(directory, within / 100)
        write([history_page(found).encode()])
        if json:
            print_json(history_document(found).as_json(), sys.stdout)
            return
        print_history(found, table_console())
        print(f"page: {target}")
