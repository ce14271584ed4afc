"""Consent: what was typed is granted; for what a file brings in beyond that the user is asked, or names a flag."""

import sys
from collections.abc import Sequence

import typer

from vtax.inputs import InputError, one_line


def require_consent(what: str, details: Sequence[str], question: str, flag: str, *, given: bool) -> None:
    """Show what a file brings in, a line for each, and have the user agree; raises InputError where nobody does.

    `given` says whether `flag` was typed; without it only an answer at a terminal agrees.
    """
    if not details:
        return
    listed = "\n".join([f"{what}:", *(f"  {detail}" for detail in details)])
    if not given and not sys.stdin.isatty():
        raise InputError(f"{listed}\n{flag} agrees to that")
    print(*map(one_line, listed.splitlines()), sep="\n", file=sys.stderr)
    if not given and not typer.confirm(question, err=True):
        raise InputError(f"{what}: not agreed to")
