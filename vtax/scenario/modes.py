"""What `precision`, `search` and `ab` ask of the rest of a scenario."""

from collections.abc import Sequence

from vtax.agent_api import GREATEST_FPS
from vtax.inputs import Document
from vtax.keys.cell import Cell
from vtax.keys.fields import Scalar
from vtax.keys.traced import TracedKeys
from vtax.scenario.grid import Factor, refusal, text
from vtax.scenario.names import Key
from vtax.scenario.schema import Ab, ScenarioFile, Search
from vtax.units import fps

LOAD = Key("workload", "intended_mbps")


def check_modes(
    document: Document, file: ScenarioFile, factors: Sequence[Factor], cells: Sequence[Cell]
) -> None:
    """Refuse a mode that the scenario's other keys contradict; InputError says where and why."""
    modes = [name for name in ("precision", "search", "ab") if getattr(file, name)]
    if len(modes) > 1:
        raise document.error((modes[1],), f"{' and '.join(modes)} are modes of their own; keep one of them")
    if file.precision and not file.workload.has_rate:
        problem = (
            f"precision is of what is carried, and {file.workload.kind} workloads are timed; leave it out"
        )
        raise document.error(("precision",), problem)
    if file.precision and file.precision.least > file.repetitions:
        problem = (
            f"{file.repetitions} is too small; allowed: at least precision.least, {file.precision.least}"
        )
        raise document.error(("repetitions",), problem)
    loads = next((factor.values for factor in factors if factor.key == LOAD), ())
    if file.precision and file.precision.of == "maximum" and len(loads) < 2:
        problem = "a maximum needs a factor intended_mbps of two loads at least"
        raise document.error(("precision", "of"), problem)
    if file.search and file.workload.frame_load is None:
        problem = f"a search is for frames; leave it out, or the {file.workload.kind} workload"
        raise document.error(("search",), problem)
    for cell in cells if modes else ():
        if isinstance(cell.workload, TracedKeys) and cell.workload.is_traced:
            problem = "a traced trial has none of the values that this mode goes by; allowed: none"
            raise refusal(document, factors, Key("workload", "trace"), cell.workload.trace, problem)
    if file.search:
        for cell in cells:
            _check_search(document, file.search, factors, cell)
    if file.ab:
        _check_turns(document, file.ab, file.repetitions, factors)


def _check_turns(document: Document, ab: Ab, repetitions: int, factors: Sequence[Factor]) -> None:
    at = ("ab", "by")
    try:
        key = Key.parse(ab.by)
    except ValueError as error:
        raise document.error(at, str(error)) from None
    levels = next((factor.values for factor in factors if factor.key == key), ())
    if len(levels) != 2:
        named = f"has {', '.join(map(text, levels))}" if levels else "is no factor of this scenario"
        problem = f"two levels are measured by turns, and {key.column} {named}; name two"
        raise document.error(at, f"{problem}, as in {key.column}: [{_example(levels)}]")
    if ab.fixed and ab.budget_s is not None:
        problem = "a fixed number of repetitions is measured whatever it takes; leave out budget_s, or fixed"
        raise document.error(("ab", "budget_s"), problem)
    if ab.fixed and repetitions < 4:
        problem = f"{repetitions} is too small; allowed: at least 4, since two quads are the least that tell anything"
        raise document.error(("repetitions",), problem)
    if repetitions % 2:
        problem = f"{repetitions} is odd, and a quad takes two blocks; allowed: even numbers"
        raise document.error(("repetitions",), problem)


def _example(levels: Sequence[Scalar]) -> str:
    return ", ".join(map(text, levels[:2])) if len(levels) > 1 else f"{text(levels[0]) if levels else 'A'}, B"


def _check_search(document: Document, search: Search, factors: Sequence[Factor], cell: Cell) -> None:
    work = cell.frame_load
    if work.intended_mbps is not None or any(factor.key == LOAD for factor in factors):
        problem = "a search finds the load; leave intended_mbps out, or search"
        raise refusal(document, factors, LOAD, work.intended_mbps or "max", problem)
    if len(set(search.goals.values())) < len(search.goals):
        raise document.error(("search", "goals"), "two goals have the same loss ratio; keep one of them")
    largest = largest_load(search, cell)
    if largest is None:
        problem = "the link is unlimited; name the largest load, as in max_mbps: 10000"
        raise document.error(("search",), problem)
    link_mbps = cell.testbed.link_mbps
    if link_mbps is not None and largest > link_mbps:
        problem = f"{largest:g} is too large; allowed: at most testbed.link_mbps, {link_mbps:g}"
        raise document.error(("search", "max_mbps"), problem)
    if search.min_mbps >= largest:
        problem = f"{search.min_mbps:g} is too large; allowed: less than the largest load, {largest:g}"
        raise document.error(("search", "min_mbps"), problem)
    if fps(largest, work.lengths.mean) > GREATEST_FPS:
        problem = (
            f"{largest:g} Mbit/s of {work.lengths.mean:g}-byte frames are over {GREATEST_FPS / 1e6:g} million frames a "
            "second; name a smaller load, as in max_mbps: 1000"
        )
        raise document.error(("search",), problem)


def largest_load(search: Search, cell: Cell) -> float | None:
    """The largest load of a cell's search; None where neither it nor the link has one."""
    return search.max_mbps if search.max_mbps is not None else cell.testbed.link_mbps
