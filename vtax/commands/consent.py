"""Consent at the command line: `--allow` grants by name, and at a terminal an answer does."""

import sys
from typing import Annotated

import typer

from vtax.inputs import InputError, one_line
from vtax.inputs.needs import NEED_KINDS, Request

Allow = Annotated[
    list[str] | None,
    typer.Option(
        "--allow", metavar="A,B", help=f"Grant what files need beyond traffic: {', '.join(NEED_KINDS)}."
    ),
]


def at_terminal(request: Request) -> None:
    """Show what is needed, and ask for what no name has granted.

    Raises InputError where nobody is there to answer, or does not agree.
    """
    if request.missing and not sys.stdin.isatty():
        raise request.refusal
    print(*map(one_line, request.listed.splitlines()), sep="\n", file=sys.stderr)
    if request.missing and not _agrees(f"Grant {' and '.join(request.missing)}?"):
        raise InputError(f"{request.of}: {' and '.join(request.missing)} not granted")


def _agrees(question: str) -> bool:
    """Whether the answer is yes; Ctrl-C and Ctrl-D are none."""
    try:
        return typer.confirm(question, err=True)
    except typer.Abort:
        return False
