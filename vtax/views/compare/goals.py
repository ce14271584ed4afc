"""Several loads together, as cells of a comparison: throughput within the loss goals, and the maximum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vtax.model.catalogue import Facet
from vtax.model.cell import Cell
from vtax.model.frames import OFFERED
from vtax.model.levels import Level, Setting
from vtax.model.metric import Metric
from vtax.model.metrics import MAXIMUM_THROUGHPUT, NDR_THROUGHPUT, OF_LOADS, PDR_THROUGHPUT, THROUGHPUT
from vtax.model.reading import read_cells
from vtax.registry.catalogues import CATALOGUES
from vtax.results import Result
from vtax.views.capacity import NDR, PDR, Capacity, capacities, read_frames
from vtax.views.levels import Levels, column_of, held, levels, words
from vtax.views.metrics import Key, MeasuredCell, is_searched, measured_cells, metrics_of
from vtax.views.provenance import workload_kind
from vtax.views.throughput import Maximum, in_groups, maximum_of

_GOALS = {PDR.name: PDR_THROUGHPUT, NDR.name: NDR_THROUGHPUT}
Place = tuple[str, Setting]
"""A platform and what is held fixed while the load varies."""


@dataclass(frozen=True)
class Measured:
    """What is compared of a result: its metrics, its cells, and the names of those that are of several loads.

    These are named also where they are not measured, since some load has no usable trial.
    """

    metrics: tuple[Metric, ...]
    cells: dict[Key, MeasuredCell]
    of_loads: frozenset[str] = frozenset()


def read_with_loads(result: Result) -> Measured:
    """Return every cell with a usable trial, and together the loads of those that differ by nothing else."""
    catalogue, metrics = CATALOGUES[workload_kind(result)], metrics_of(result)
    cells = read_cells(result, catalogue.reading, tuple(dict.fromkeys((*metrics, *catalogue.shown))))
    loads: dict[Place, set[Level]] = {}
    for cell in cells:
        loads.setdefault(_place(cell), set()).add(cell.level)
    several = {place: each for place, each in loads.items() if len(each) > 1}
    names, frames, together = _names(result, [*several]), read_frames(result), {}
    for group in in_groups(cell for cell in cells if _is_whole(cell)):
        place = _place(group[0])
        if place in several and {cell.level for cell in group} == several[place]:
            found = _together(group, names[place], capacities(group, frames))
            together[found.cell, found.uut_context] = found
    return Measured(
        (*metrics, *OF_LOADS),
        measured_cells(cells, metrics) | dict(sorted(together.items())),
        frozenset(names.values()),
    )


def has_loads(result: Result) -> bool:
    """Whether loads of its kind of workload are taken together; those that a search chose are not."""
    return CATALOGUES[workload_kind(result)].facet is Facet.LOADS and not is_searched(result)


def _place(cell: Cell) -> Place:
    return cell.platform, cell.setting


def _is_whole(cell: Cell) -> bool:
    """Whether each block has what was offered and received."""
    return all(len(cell.values(metric.column)) == len(cell.blocks) > 0 for metric in (OFFERED, THROUGHPUT))


def _together(group: Sequence[Cell], name: str, goals: Sequence[Capacity]) -> MeasuredCell:
    """What a group of loads carried at the one that was picked for each goal."""
    found: dict[str, Maximum] = {_GOALS[each.goal].name: each.maximum for each in goals if each.maximum}
    found[MAXIMUM_THROUGHPUT.name] = maximum_of(group)
    return MeasuredCell(
        cell=name,
        uut_context=group[0].uut_context,
        platform=group[0].platform,
        blocks=max(len(cell.blocks) for cell in group),
        values={metric: maximum.cell.values(THROUGHPUT.column) for metric, maximum in found.items()},
        limits={metric: maximum.limit for metric, maximum in found.items() if maximum.limit},
        loads=frozenset(cell.level for cell in group),
        less_than={
            _GOALS[each.goal].name: each.beyond.values(OFFERED.column)
            for each in goals
            if each.beyond and (each.maximum is None or each.is_bracketed)
        },
    )


def _names(result: Result, places: Sequence[Place]) -> dict[Place, str]:
    """What loads together go by: the platform, the scenario's factors but the load, and what else they differ in."""
    base, dimension = held(result), CATALOGUES[workload_kind(result)].reading.dimension
    found: dict[Place, Levels] = {
        (platform, setting): levels(base, platform, setting.levels.factors(base), setting.further)
        for platform, setting in places
    }
    factors = [column_of(factor) for factor in result.scenario.get("factors") or {}]
    shown = dict.fromkeys(["platform", *factors, *_differing([*found.values()])])
    if dimension:
        shown.pop(dimension.column, None)
    return {place: words({name: own[name] for name in shown if name in own}) for place, own in found.items()}


def _differing(places: Sequence[Levels]) -> Iterator[str]:
    for place in places:
        yield from (name for name, level in place.items() if places[0].get(name) != level)
