"""Nanoseconds planted on platforms without a kernel of their own: work on each frame, timed by who does it."""

from pathlib import Path
from typing import Final

from validation.native.busy import LATEST
from validation.native.checks import checks_of
from validation.native.pairs import FLOODED_NS, PACED_FPS, PAIRS, measured_on
from validation.section import Check, Section
from validation.trials import NoTrial, Trials, machine_held
from vtax.platforms import presets
from vtax.trial.failures import BUILD_FAILURES

PLATFORMS: Final = ("raw", "container")

TEXT = f"""
A BPF program where frames leave the unit under test reads the clock until a known time has passed, for each frame; what
each frame took by that clock is the truth. The reference is the same program that is asked for nothing: it reads the
clock twice. The error is the difference that vtax finds within a pair less what the program took longer; {PAIRS} pairs,
all on one path. Its median, with its 90% interval (order statistics), has to lie within the budget.

*Delay*: two streams of 64-byte frames, {PACED_FPS:,} a second each, by turns, and never while the other's is at work.
One has the work, the other is the reference, in the same trial: the machine is as fast for both. A pair is two trials,
in which the streams change roles. Medians of vtax, and of the program's latest {LATEST:,} frames.

*CPU per frame* and *1 / maximum*: a pair is two floods of 64-byte frames, one after the other; every other time the
reference is first. Means, since what interrupts the loop takes the CPU's time too. Here the reference is asked for
{FLOODED_NS:,} ns a frame, so that the unit under test is the limit with and without: where the source is, the rate does
not depend on what the unit does.

Where an error misses its budget, the reference is held against itself, from each pair to the next: where that misses it
too, the machine was too uneven to tell, unless even the interval over all rows (Bonferroni) lies beyond.
"""


def run(directory: Path) -> Section:
    """Measure all platforms; a platform that could not be measured is a check that does not hold."""
    trials = Trials()
    checks: list[Check] = []
    with machine_held("validation native") as machine:
        for name in PLATFORMS:
            try:
                measured = measured_on(presets()[name], machine, trials, directory)
            except (*BUILD_FAILURES, NoTrial) as failure:
                checks.append(Check(name, f"not measured: {failure}", "measured", holds=False))
                continue
            checks += checks_of(name, measured)
    return Section("Nanoseconds planted on native platforms", TEXT, tuple(checks))
