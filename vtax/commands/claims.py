"""`vtax claims`: which findings of the papers hold here."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from vtax.commands import Json
from vtax.inputs import InputError
from vtax.listing import print_json


def claims(
    results: Annotated[
        list[Path], typer.Argument(metavar="RESULT...", help="Directories of results of a paper's scenarios.")
    ],
    markdown: Annotated[bool, typer.Option("--markdown", help="As Markdown.")] = False,
    json: Json = False,
) -> None:
    """Report which findings of the papers hold for results, with effect and interval; docs/claims.md lists them."""
    from vtax.confinement.reading import confine

    if markdown and json:
        raise InputError("--markdown and --json are two forms of the same output; leave out one")
    confine(results)
    from vtax.results import Result
    from vtax.terminal import table_console
    from vtax.views.claims import judge_results
    from vtax.views.claims.document import claims_document
    from vtax.views.claims.markdown import claims_markdown
    from vtax.views.claims.terminal import print_claims

    judged = judge_results([Result.open(result) for result in results])
    if json:
        print_json(claims_document(judged).as_json(), sys.stdout)
    elif markdown:
        print(claims_markdown(judged), end="")
    else:
        print_claims(judged, table_console())
