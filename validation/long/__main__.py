"""`python -m validation.long [MINUTES]`: measure so long, add it to the file, and write docs/validation-long.md."""

import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from validation.long.gate import LONGEST, section
from validation.long.quads import EFFECTS, Quad, append, measure_round, read
from validation.page import page
from validation.trials import NoTrial, Trials, machine_held
from vtax.inputs import InputError
from vtax.trial.failures import BUILD_FAILURES

MINUTES: Final = 30
QUADS: Final = Path(__file__).with_name("quads.csv")
PAGE: Final = Path(__file__).resolve().parents[2] / "docs/validation-long.md"
HEAD: Final = """# Validation at length

This page answers: how well do the gates of vtax see a change that is there, beside others' rules? `make validate-long`
measures for half an hour, `MINUTES=60` for longer, adds that to `validation/long/quads.csv`, and writes this page of
all that is there.

"""


def measure(minutes: float) -> None:
    """Measure rounds for so long; each is in the file as soon as it ends. A round that fails is told and left out."""
    begun, trials = time.monotonic(), Trials()
    directory = Path(tempfile.mkdtemp(prefix="vtax-validation-long-"))
    number = max((quad.round for quad in read(QUADS)), default=0)
    try:
        with machine_held("validation at length") as machine:
            while time.monotonic() < begun + 60 * minutes:
                number += 1
                try:
                    append(QUADS, measure_round(number, machine, trials, directory))
                except (*BUILD_FAILURES, NoTrial) as failure:
                    print(f"round {number}: {failure}", file=sys.stderr)
                else:
                    print(f"round {number}: {len(EFFECTS)} quads", file=sys.stderr)
    finally:
        shutil.rmtree(directory)


def facts(quads: Sequence[Quad]) -> str:
    """When, how much and on what machines."""
    moments = sorted(quad.at for quad in quads)
    machines = "; ".join(dict.fromkeys(quad.machine for quad in quads))
    hours = sum(quad.seconds for quad in quads) / 3600
    return (
        f"Measured from {moments[0]} to {moments[-1]}: {len({quad.round for quad in quads})} rounds of "
        f"{len(EFFECTS)} quads, {hours:.1f} hours of trials. {machines}."
    )


def main(arguments: Sequence[str]) -> int:
    """Exit status 0 where everything holds, 1 where something does not, 2 where it cannot begin."""
    try:
        minutes = float(arguments[0]) if arguments else MINUTES
    except ValueError:
        print(f"not a number of minutes: {arguments[0]}", file=sys.stderr)
        return 2
    try:
        measure(minutes)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    quads = read(QUADS)
    rounds = {quad.round for quad in quads}
    if len(rounds) < LONGEST:
        print(f"{len(rounds)} rounds are too few for a page, which takes {LONGEST}: go on", file=sys.stderr)
        return 1
    found = section(quads)
    PAGE.write_text(page(f"{facts(quads)}\n", [found], HEAD), encoding="utf-8")
    missed = [check for check in found.checks if not check.holds]
    for check in missed:
        print(f"missed: {check.what}: {check.measured}, must be {check.bound}", file=sys.stderr)
    print(f"{PAGE} written")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
