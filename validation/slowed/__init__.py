"""A machine made slow on purpose: trials name what does it, and ratios of those that are kept stay right."""

import statistics
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from validation.equivalence import Bounds, Budget, median_interval
from validation.native.busy import Busy, busy
from validation.native.pairs import FRAME_BYTES, LEAVE
from validation.section import Check, Section
from validation.slowed.causes import (
    BESIDE_SOURCE_US,
    BESIDE_UUT_US,
    CAUSES,
    KEPT_US,
    MEMORY_BYTES,
    PERIOD_US,
    Cause,
)
from validation.trials import Machine, Trials, cell, machine_held, path_of
from vtax.keys.cell import Cell
from vtax.platforms import presets
from vtax.results import number
from vtax.trial.failures import BUILD_FAILURES
from vtax.trial.verdict import Verdict
from vtax.workloads.forwarding.measure.path import ForwardingPath

BLOCKS: Final = 20
DURATION_S: Final = 0.5
WORK_NS: Final = (1_000, 2_000)
"""On each frame, of the two that are compared: the UUT limits both."""
BUDGET: Final = Budget.either_way(0.03)

TEXT = f"""
On the bare host, floods of 64-byte frames that the unit under test limits: work on each frame is planted there, as
above, of {WORK_NS[0]:,} ns and of {WORK_NS[1]:,} ns. {BLOCKS} blocks of four trials: both works while the machine is
made slow, and both while it is not; every other block begins with the latter. What slows it: a *quota* of the source's
CPU time ({KEPT_US / PERIOD_US:.0%} of a CPU, which holds it back for long: such trials are invalid, and measured again
in a campaign); a *competing thread* on the CPU of the unit under test, {BESIDE_UUT_US / PERIOD_US:.0%} of it; *memory
load*, a thread that copies {MEMORY_BYTES >> 21} MiB again and again on the source's CPU,
{BESIDE_SOURCE_US / PERIOD_US:.0%} of it. These shares make most trials suspect, and not invalid.

*Named*: blocks in which each of the two slowed trials has a reason that names the cause: threads held back by a quota,
CPU time taken from the unit under test, the source's wait for its CPU. *Ratio*: the rate with the longer work over that
with the shorter, slowed over not slowed, less 1, in blocks whose four trials were kept (none invalid). The 90% interval
of its median (order statistics) has to lie within the budget. Where it does not, the ratios that were not slowed are
held against themselves, each against the one before: where these miss the budget too, the machine was too uneven to
tell, unless even the interval over all rows lies beyond.
"""


@dataclass(frozen=True)
class Block:
    """Ratios of the two rates, slowed and not, None where a trial of the two was invalid; and who was named."""

    slowed: float | None
    unhindered: float | None
    named: bool
    """Whether both slowed trials name the cause."""


def run(directory: Path) -> Section:
    """Measure on the bare host; what cannot be measured is a check that does not hold."""
    preset, checks = presets()["raw"], list[Check]()
    asked = cell(preset.name, FRAME_BYTES, "max", DURATION_S)
    try:
        with (
            machine_held("validation slowed") as machine,
            path_of(preset, asked, machine) as (path, _),
            busy(path.testbed.uut.namespace, LEAVE.format(0), directory) as work,
        ):
            blocks = Blocks(Trials(), path, asked, work, machine)
            for cause in CAUSES:
                checks += checks_of(cause.name, [blocks.measure(cause, at) for at in range(BLOCKS)])
    except BUILD_FAILURES as failure:
        checks.append(Check("raw", f"not measured: {failure}", "measured", holds=False))
    return Section("A machine made slow on purpose", TEXT, tuple(checks))


@dataclass(frozen=True)
class Blocks:
    """Blocks of trials on one path, with work on each frame."""

    trials: Trials
    path: ForwardingPath
    asked: Cell
    work: Busy
    machine: Machine

    def measure(self, cause: Cause, at: int) -> Block:
        """Measure both works, slowed and not; every other block is slowed last."""
        found = {}
        for is_slowed in (True, False) if at % 2 == 0 else (False, True):
            with cause.begin(self.path, self.machine) if is_slowed else nullcontext():
                found[is_slowed] = [self._trial(cause, work_ns) for work_ns in WORK_NS]
        slowed, unhindered = (_ratio([rate for rate, _ in found[is_slowed]]) for is_slowed in (True, False))
        return Block(slowed, unhindered, all(named for _, named in found[True]))

    def _trial(self, cause: Cause, work_ns: int) -> tuple[float | None, bool]:
        """Return a trial's rate, None where it is invalid, and whether it names the cause."""
        self.work.ask(work_ns)
        judgement, record = self.trials.judged(self.path, self.asked, emulated=False)
        named = any(cause.words in reason for reason in judgement.reasons)
        if judgement.verdict is Verdict.INVALID:
            return None, named
        (flow,) = record.flows
        return number(flow["received_fps"]), named


def checks_of(cause: str, blocks: Sequence[Block]) -> Iterator[Check]:
    """Both rows of a cause."""
    named = sum(block.named for block in blocks)
    errors = [block.slowed / block.unhindered - 1 for block in blocks if block.slowed and block.unhindered]
    kept = "" if errors else "; none was kept"
    yield Check(f"{cause}: named", f"{named} of {len(blocks)}{kept}", "all", named == len(blocks))
    if not errors:
        return
    interval = median_interval(errors)
    holds = BUDGET.holds(interval)
    explanation = None
    if not holds and not BUDGET.unexplained(errors, len(CAUSES)):
        own = [block.unhindered for block in blocks if block.unhindered]
        relative = [ratio / statistics.median(own) for ratio in own]
        explanation = BUDGET.too_uneven((("the ratio that is not slowed", relative),), _percent)
    yield Check(
        f"{cause}: ratio of those kept",
        f"{statistics.median(errors):+.2%} {_percent(interval)}, n = {len(errors)} of {len(blocks)} blocks",
        f"within ±{BUDGET.most:.0%}",
        holds,
        explanation,
    )


def _ratio(rates: Sequence[float | None]) -> float | None:
    reference, planted = rates
    return planted / reference if planted and reference else None


def _percent(interval: Bounds) -> str:
    return f"[{interval[0]:+.2%}, {interval[1]:+.2%}]"
