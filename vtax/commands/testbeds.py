"""What of the command line is about several testbeds: campaigns on them, and their certificates."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vtax.commands.consent import at_terminal
from vtax.inputs import InputError

if TYPE_CHECKING:
    from collections.abc import Collection

    from vtax.campaign import Outcome, Progress, Resumed
    from vtax.inputs.needs import NeedKind
    from vtax.scenario import Scenario

EXTRA = "this needs Dask and its TLS library: pip install 'vtax[cluster]'"


def run_on_testbeds(
    scenario: "Scenario",
    testbeds: Path,
    out: Path | None,
    seed: int | None,
    resume: "Resumed | None",
    allow: "Collection[NeedKind]",
    progress: "Progress",
) -> "Outcome":
    """Carry out a scenario on the testbeds of a file."""
    try:
        from vtax.cluster.run import run
    except ModuleNotFoundError as error:
        raise InputError(f"--testbeds: {EXTRA} ({error})") from None
    return run(
        scenario,
        testbeds,
        out=out,
        seed=seed,
        resume=resume,
        allow=allow,
        consent=at_terminal,
        progress=progress,
    )


def certificates(
    directory: Annotated[Path, typer.Argument(metavar="DIRECTORY", help="A new or empty directory.")],
) -> None:
    """Create the certificates of a campaign whose scheduler you start yourself; only their owner can read them."""
    try:
        from vtax.cluster.certificates import ROLES, make_certificates
    except ModuleNotFoundError as error:
        raise InputError(f"vtax certificates: {EXTRA} ({error})") from None
    made = make_certificates(directory)
    for path in (made.authority, *map(made.of, ROLES)):
        print(path)
