"""`python -m validation.long [MINUTES]`: measure so long, add it to the files, and write docs/validation-long.md."""

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from validation.long import builds, campaigns, gate
from validation.long.builds import Run, measure_run
from validation.long.campaigns import Pair, ended_campaigns, measure_campaign
from validation.long.quads import EFFECTS, Quad, measure_round
from validation.long.rows import append, read
from validation.page import page
from validation.section import Section
from validation.trials import NoTrial, Trials, machine_held
from vtax.inputs import InputError
from vtax.trial.failures import BUILD_FAILURES

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MINUTES: Final = 30
CYCLE_S: Final = 180
"""From one campaign to the next, at least."""
RUN_EVERY: Final = 3
"""Of so many cycles one has a gate and two copies of a build, the others gates and a slower build."""
ROOT: Final = Path(__file__).resolve().parents[2]
RESULTS: Final = ROOT / "results/validation-long"
PAGE: Final = ROOT / "docs/validation-long.md"
QUADS, PAIRS, RUNS = (Path(__file__).with_name(name) for name in ("quads.csv", "pairs.csv", "runs.csv"))
HEAD: Final = """# Validation at length

This page answers: how well do the gates of vtax see a change that is there, beside others' rules, and how often do they
report one where nothing changed? `make validate-long` measures for half an hour, `MINUTES=60` for longer, adds that to
the files in `validation/long/`, and writes this page of all that is there.

"""


def measure(minutes: float) -> None:
    """Measure cycle after cycle for so long; what is measured is in its file as soon as it ends."""
    until = time.monotonic() + 60 * minutes
    trials = Trials()
    while (begun := time.monotonic()) < until:
        add("campaign", PAIRS, partial(measure_campaign, RESULTS))
        if ended_campaigns(RESULTS) % RUN_EVERY == 0:
            with directory_of_its_own() as directory:
                add("copies of a build", RUNS, partial(measure_run, directory))
        else:
            measure_rounds(trials, min(until, begun + CYCLE_S))


def measure_rounds(trials: Trials, until: float) -> None:
    """Measure rounds of quads until then."""
    number = max((quad.round for quad in read(QUADS, Quad)), default=0)
    with directory_of_its_own() as directory, machine_held("validation at length") as machine:
        while time.monotonic() < until:
            number += 1
            add(f"round {number}", QUADS, partial(measure_round, number, machine, trials, directory))


def add(what: str, path: Path, measured: "Callable[[], Sequence[DataclassInstance]]") -> None:
    """Add what is measured to a file. What fails is left out, and why is printed."""
    try:
        rows = measured()
    except (*BUILD_FAILURES, NoTrial) as failure:
        print(f"{what}: {failure}", file=sys.stderr)
        return
    if rows:
        append(path, rows)
    print(f"{what}: {len(rows)} rows", file=sys.stderr)


@contextmanager
def directory_of_its_own() -> Iterator[Path]:
    """A new directory, which is gone afterwards."""
    directory = Path(tempfile.mkdtemp(prefix="vtax-validation-long-"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory)


def facts(quads: Sequence[Quad], pairs: Sequence[Pair], runs: Sequence[Run]) -> str:
    """When, how much and on what machines."""
    rows: list[Quad | Pair | Run] = [*quads, *pairs, *runs]
    moments, machines = sorted(row.at for row in rows), dict.fromkeys(row.machine for row in rows)
    return (
        f"Measured from {moments[0]} to {moments[-1]}: {len({quad.round for quad in quads})} rounds of {len(EFFECTS)} "
        f"quads, {len(runs)} runs with two copies of a build, {len(pairs)} pairs of campaigns. {'; '.join(machines)}."
    )


def sections(quads: Sequence[Quad], pairs: Sequence[Pair], runs: Sequence[Run]) -> list[Section]:
    """Return a section for each kind of which there is something."""
    found = [gate.section(quads)]
    if runs:
        found.append(builds.section(runs))
    if pairs:
        found.append(campaigns.section(pairs))
    return found


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
    quads = read(QUADS, Quad)
    rounds = {quad.round for quad in quads}
    if len(rounds) < gate.LONGEST:
        print(
            f"{len(rounds)} rounds are too few for a page, which takes {gate.LONGEST}: go on", file=sys.stderr
        )
        return 1
    pairs, runs = read(PAIRS, Pair), read(RUNS, Run)
    found = sections(quads, pairs, runs)
    PAGE.write_text(page(f"{facts(quads, pairs, runs)}\n", found, HEAD), encoding="utf-8")
    missed = [check for section in found for check in section.checks if not check.holds]
    for check in missed:
        print(f"missed: {check.what}: {check.measured}, must be {check.bound}", file=sys.stderr)
    print(f"{PAGE} written")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
