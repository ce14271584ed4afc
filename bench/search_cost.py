"""Trial time of the modes that stop by what they measure, against designs fixed beforehand."""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from bench.figure import Figure, Section
from vtax import campaign
from vtax.results import Result
from vtax.scenario import Scenario, load_scenario
from vtax.statistics import anytime_interval, mean_interval, relative_width
from vtax.terminal import progress_on

FIXED = "schlosser2011/dedicated"
FRAME_BYTES = (64, 1500)
BINARY_TRIAL_S = 60.0
GOAL_WIDTH = 0.01
LARGEST_GRID_RATIO = 0.2
LARGEST_SEARCH_RATIO = 0.1

TEXT = f"""
Seconds of warm-up and measurement, on raw with one stream. *`precision`* is held against `{FIXED}` at frames of
{" and ".join(map(str, FRAME_BYTES))} bytes and all its loads: the width that its most variable cell has after its own
trials is asked of every cell, within a fifth of its time. That cell is measured so here; the trial time of the others
follows from the design. *`search`* is held against two binary searches of {BINARY_TRIAL_S:g} s trials between nothing
and the link's rate, for NDR and for PDR, down to the same width; how many trials they need follows from the bounds
that were found.
"""


@dataclass(frozen=True)
class SearchCost:
    """Seconds of warm-up and measurement. Widths are of intervals (of bounds: of the upper one), as a share.

    `fixed_width` is the most variable cell's by Student, `precision_width` the widest of all cells' confidence
    sequences.
    """

    fixed_s: float
    fixed_width: float
    precision_s: float
    precision_width: float
    cells: int
    cells_reached: int
    binary_s: float
    binary_trials: int
    search_s: float
    search_width: float
    search_trials: int


def run(directory: Path) -> Section:
    """Carry out the campaigns below `directory`; raises as campaign.run does."""
    return Section("Trial time", TEXT, figures_of(measure(directory)))


def figures_of(cost: SearchCost) -> tuple[Figure, ...]:
    """What each mode takes of a fixed design's trial time."""
    every_cell = cost.cells_reached == cost.cells
    return (
        _figure(
            f"`precision`, {cost.cells} cells to a relative width of {cost.fixed_width:.2%}; "
            f"{cost.cells_reached} reached it, the widest {cost.precision_width:.2%}",
            (cost.precision_s, cost.fixed_s),
            LARGEST_GRID_RATIO,
            reached=every_cell,
        ),
        _figure(
            f"`search`, NDR and PDR at {FRAME_BYTES[0]} B to {cost.search_width:.2%} in {cost.search_trials} "
            f"trials, against {cost.binary_trials} of {BINARY_TRIAL_S:g} s",
            (cost.search_s, cost.binary_s),
            LARGEST_SEARCH_RATIO,
            reached=cost.search_width <= GOAL_WIDTH,
        ),
    )


def _figure(name: str, seconds: tuple[float, float], largest: float, *, reached: bool) -> Figure:
    ours, fixed = seconds
    ratio = ours / fixed
    required = f"at most {largest:g} x"
    holds = reached and ratio <= largest
    return Figure(name, f"{ours:.0f} s", f"fixed design: {fixed:.0f} s", required, ratio, None, None, holds)


def measure(directory: Path) -> SearchCost:
    """Carry out the campaigns below `directory`; raises as campaign.run does."""
    fixed = load_scenario(FIXED)
    variable = fixed.override(["raw"], ["streams=1", "frame_bytes=64", "intended_mbps=max"])
    reference = _carry_out(variable, directory / "fixed")
    (received,) = _received(reference).values()
    width = relative_width(mean_interval(received, 0.95))
    if not width:
        raise ValueError(f"{directory / 'fixed'}: no interval to compare with; see its trials' verdicts")

    sizes = ",".join(map(str, FRAME_BYTES))
    fixed_s = _planned_s(fixed, len(_changed(fixed, sizes).cells()))
    asked: JsonValue = {"relative_width": width, "budget_s": LARGEST_GRID_RATIO * fixed_s}
    grid = _changed(fixed, sizes, precision=asked)
    precise = _carry_out(grid, directory / "precision")
    widths = [relative_width(anytime_interval(values)) for values in _received(precise).values()]
    known = [each for each in widths if each is not None]

    searched = _carry_out(_changed(fixed, "64", search={"relative_width": GOAL_WIDTH}), directory / "search")
    bounds = searched.query("SELECT lower_mbps, upper_mbps FROM searches").to_pylist()
    found = [row for row in bounds if row["lower_mbps"] and row["upper_mbps"]]
    if len(found) < 2:
        raise ValueError(f"{directory / 'search'}: a goal has no bounds; see vtax show")
    link_mbps = grid.cells()[0].testbed.link_mbps or math.inf
    trials = sum(math.ceil(math.log2(link_mbps / (GOAL_WIDTH * row["upper_mbps"]))) for row in found)

    return SearchCost(
        fixed_s=fixed_s,
        fixed_width=width,
        precision_s=_trial_s(precise),
        precision_width=max(known, default=math.nan),
        cells=len(grid.cells()),
        cells_reached=sum(each <= width for each in known),
        binary_s=trials * BINARY_TRIAL_S,
        binary_trials=trials,
        search_s=_trial_s(searched),
        search_width=max(1 - row["lower_mbps"] / row["upper_mbps"] for row in found),
        search_trials=int(searched.query("SELECT count(*) AS n FROM trials")["n"][0].as_py()),
    )


def _changed(fixed: Scenario, frame_bytes: str, **mode: JsonValue) -> Scenario:
    """The fixed design on raw and one stream, with trials of one second, in a mode."""
    fixes = ["streams=1", f"frame_bytes={frame_bytes}", "workload.warmup_s=0.3"]
    chosen = fixed.override(["raw"], fixes, 100, 1.0)
    resolved = chosen.resolved()
    if "search" in mode:
        factors = {name: levels for name, levels in chosen.file.factors.items() if name != "intended_mbps"}
        resolved |= {"factors": {name: list(levels) for name, levels in factors.items()}, "repetitions": 1}
    return Scenario.from_resolved({**resolved, **mode})


def _carry_out(scenario: Scenario, out: Path) -> Result:
    outcome = campaign.run(scenario, out=out, seed=1, progress=progress_on(sys.stderr, plain=True))
    return Result.open(outcome.directory)


def _planned_s(fixed: Scenario, cells: int) -> float:
    work = fixed.cells()[0].frame_load
    return cells * fixed.repetitions * (work.warmup_s + work.duration_s)


def _trial_s(result: Result) -> float:
    """Of every trial that was made, invalid ones too."""
    query = "SELECT sum(warmup_s + coalesce(duration_s, 0)) AS s FROM trials"
    return float(result.query(query)["s"][0].as_py())


def _received(result: Result) -> dict[str, Sequence[float]]:
    rows = result.query("SELECT cell, list(received_mbps ORDER BY block) AS mbps FROM cells GROUP BY cell")
    return {row["cell"]: row["mbps"] for row in rows.to_pylist()}
