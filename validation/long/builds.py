"""Whether `vtax ab` calls one build of a container runtime worse than a copy of itself."""

import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Final

from validation.campaigns import HERE
from validation.long.campaigns import SCENARIO
from validation.long.machine import machine_in_words
from validation.long.rules import bound_of_alarms, most_alarms, share_of
from validation.section import Check, Section
from vtax import campaign
from vtax.inputs import InputError
from vtax.results import Result
from vtax.scenario import load_scenario
from vtax.terminal import progress_on
from vtax.views.compare import Outcome
from vtax.views.compare.turns import open_turns, rule_progress

PLATFORM: Final = "container"
PROGRAM: Final = "runc"
FRAME_BYTES: Final = "64,512,1024,1500"
RULES: Final = "throughput<0%,latency_p50>0%"
"""With no room at all: what is true lies at the limit, where a verdict is wrong most often."""
BUDGET_S: Final = 180.0
MOST_BLOCKS: Final = 1_000

TEXT = f"""
Two copies of {PROGRAM} under two paths, by turns, as `vtax ab --factor platform.binary=A,B` measures them: floods and a
stated load of four frame sizes through the container, {BUDGET_S:.0f} s a run, rules without any room (`{RULES}`).
The true change is at the limit, so that each rule is looked at after every quad until the budget is spent, and is wrong
where it is called broken, or passed. A run in which any rule of any cell is broken is a false alarm.
"""


@dataclass(frozen=True)
class Run:
    """What a campaign by turns found of a build against itself: `rules` on all cells, of which so many are `broken`."""

    at: str
    machine: str
    cells: int
    quads: int
    rules: int
    broken: int
    passed: int
    seconds: float


def measure_run(directory: Path) -> list[Run]:
    """Measure two copies by turns, in `directory`; nothing where no trial of one of them can be used.

    Raises InputError where the program is not installed, else as `vtax.campaign.run` does.
    """
    found = shutil.which(PROGRAM)
    if found is None:
        raise InputError(f"{PROGRAM} is not installed; make packages-run installs it")
    copies = [directory / name / PROGRAM for name in ("a", "b")]
    for copy in copies:
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(found, copy)
    out = directory / "out"
    asked = load_scenario(str(HERE / f"{SCENARIO}.yaml")).override([PLATFORM], [f"frame_bytes={FRAME_BYTES}"])
    by_turns = asked.by_turns(f"platform.binary={copies[0]},{copies[1]}", RULES, MOST_BLOCKS, BUDGET_S)
    begun, moment = time.monotonic(), datetime.now(UTC)
    try:
        campaign.run(by_turns, out=out, judging=rule_progress, progress=progress_on(sys.stderr, plain=True))
        compared = open_turns(out)
        blocks = Result.open(out).columns("SELECT max(block) + 1 AS blocks FROM trials")["blocks"][0].as_py()
    finally:
        shutil.rmtree(out, ignore_errors=True)
    if compared is None:
        return []
    return [
        Run(
            at=f"{moment:%Y-%m-%dT%H:%M:%SZ}",
            machine=machine_in_words(),
            cells=len({one.cell for one in compared.judged}),
            quads=blocks // 2,
            rules=len(compared.judged),
            broken=compared.outcomes[Outcome.BROKEN],
            passed=compared.outcomes[Outcome.PASSED],
            seconds=round(time.monotonic() - begun, 1),
        )
    ]


def section(runs: Sequence[Run]) -> Section:
    """Hold the false alarms against what chance allows; `runs` are not none."""
    quads = [run.quads for run in runs]
    return Section(
        "A gate and two copies of one build",
        TEXT,
        (
            _wrong("a false alarm", runs, [run.broken for run in runs]),
            _wrong("a rule that passes", runs, [run.passed for run in runs]),
            Check(
                "quads of a run",
                f"median {median(quads):g} ({min(quads)} to {max(quads)}), looked at after each from the third on",
                "for comparison",
                True,
            ),
        ),
    )


def _wrong(what: str, runs: Sequence[Run], rules: Sequence[int]) -> Check:
    """How many runs have such a verdict, of which each has on so many rules."""
    found = sum(each > 0 for each in rules)
    cells, tried = sum(run.cells for run in runs), sum(run.rules for run in runs)
    return Check(
        f"runs with {what}",
        f"{share_of(found, len(runs))}, {sum(rules)} of {tried} rules on {cells} cells",
        bound_of_alarms(len(runs)),
        found <= most_alarms(len(runs)),
    )
