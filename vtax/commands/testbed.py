"""`vtax testbed`, and the machines that other commands measure on."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vtax.commands import Json
from vtax.commands.consent import Allow, at_terminal
from vtax.inputs.needs import read_kinds, require
from vtax.listing import print_checks, print_json

if TYPE_CHECKING:
    from vtax.testbed.machines import Machines
    from vtax.testbed.remote import TestbedFile

UNUSABLE = 3
testbed = typer.Typer(help="Check testbeds of several machines.")


@testbed.callback()
def _testbed() -> None:
    """Check testbeds of several machines."""


@testbed.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A testbed file.")],
    allow: Allow = None,
    json: Json = False,
) -> int:
    """Check that the machines answer and that frames pass each link; restores every change."""
    from vtax.doctor.document import checks_document
    from vtax.doctor.testbed import examine_testbed
    from vtax.testbed.remote import read_testbed

    lab = read_testbed(file)
    require(str(file), lab.needs, read_kinds(allow or []), at_terminal)
    checks = examine_testbed(lab)
    if json:
        print_json(checks_document(checks).as_json(), sys.stdout)
    else:
        print_checks(checks, sys.stdout)
    return 0 if all(check.usable for check in checks) else UNUSABLE


def machines_of(file: "TestbedFile | None") -> "Machines":
    """The machines of a testbed file; this machine alone without one."""
    from vtax.testbed.machines import OneMachine
    from vtax.testbed.remote import SeveralMachines

    return OneMachine() if file is None else SeveralMachines(file)
