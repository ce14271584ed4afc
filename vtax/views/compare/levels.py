"""Two levels of a factor in one campaign, as the sides of a comparison: their trials share blocks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from vtax.inputs import InputError, advised, one_line, suggestion
from vtax.model.level_labels import level_labels
from vtax.model.reading import level_of, recorded_cells
from vtax.registry.catalogues import CATALOGUES
from vtax.results import Result
from vtax.results.own_files import file_hashes, said_alike
from vtax.scenario.grid import text
from vtax.views.compare.quads import in_quads
from vtax.views.compare.side import COMPARISON, TABLES, Side, read_side
from vtax.views.compare.unit import Unit
from vtax.views.levels import Levels, column_of, held, levels, words
from vtax.views.metrics import is_searched
from vtax.views.provenance import read_provenance, workload_kind

Placed: TypeAlias = Mapping[str, Levels]
"""The levels of recorded cells, by the cells' keys."""


def open_levels(directory: Path, by: str) -> tuple[Side, Side]:
    """Return the sides that `FACTOR` or `FACTOR=A,B` names in the result there, A first.

    InputError where there is no result, or none that can be compared so; for a factor or level that it does not have;
    and for platforms of which one alone was emulated.
    """
    return read_levels(COMPARISON.check(Result.open(directory, TABLES)), by)


def read_levels(result: Result, by: str) -> tuple[Side, Side]:
    """Return the sides that `by` names in a result that has TABLES, as `open_levels`."""
    if is_searched(result):
        raise InputError(
            f"{result.directory}: a search finds each cell's loads by themselves, so that no two levels share one; "
            "compare two campaigns: vtax compare A B"
        )
    placed = _placed(result)
    factor, before, after = _chosen(result, placed, by)
    _check_emulation(result, placed, factor, (before, after))
    whole = read_side(result, by_block=True)
    if result.by_turns:
        whole = replace(whole, measured={key: in_quads(cell) for key, cell in whole.measured.items()})
    unit = Unit.QUAD if result.by_turns else Unit.BLOCK
    whole = replace(whole, unit=unit, alike=_alike(result, (before, after)))
    return _side(whole, placed, factor, before), _side(whole, placed, factor, after)


def _alike(result: Result, chosen: Collection[str]) -> tuple[str, ...]:
    """Say where both levels name one file."""
    found: dict[str, str] = {}
    for sha256 in file_hashes(result.campaign.get("platforms")).values():
        found |= {named: content for named, content in sha256.items() if named in chosen}
    return tuple(said_alike(found))


def has_levels(result: Result, factor: str) -> bool:
    """Whether a result has trials of more levels of a factor than one."""
    return column_of(factor) in _varied(_placed(result).values())


def _placed(result: Result) -> Placed:
    reading = CATALOGUES[workload_kind(result)].reading
    base, dimension = held(result), reading.dimension
    rows = recorded_cells(result, reading.levels, also=(dimension.column,) if dimension else ())
    return {
        row.key: levels(
            base,
            row.platform,
            {
                **row.setting.levels.factors(base),
                **({dimension.column: level_of(row, dimension)} if dimension else {}),
            },
            row.setting.further,
        )
        for row in rows
    }


def _chosen(result: Result, placed: Placed, by: str) -> tuple[str, str, str]:
    """The factor's name in cells, and the levels of A and B."""
    name, equals, wanted = by.partition("=")
    varied = _varied(placed.values())
    factor = name.strip() if name.strip() in varied else column_of(name.strip())
    if factor not in varied:
        raise _unknown(name, f"no factor of two levels or more in {result.directory}", varied)
    there = _in_order(result, factor, {found[factor] for found in placed.values() if factor in found})
    chosen = [level.strip() for level in wanted.split(",")] if equals else there
    for level in chosen:
        if level not in there:
            raise _unknown(level, f"no level of {factor}", there)
    if len(chosen) != 2 or chosen[0] == chosen[1]:
        raise InputError(
            f"--by: a comparison is of two levels, and {factor} has {', '.join(there)}; name two, as in "
            f"--by {factor}={there[0]},{there[1]}"
        )
    return factor, chosen[0], chosen[1]


def _unknown(name: str, what: str, there: Sequence[str]) -> InputError:
    allowed = f"there are: {', '.join(there) or 'none'}"
    return InputError(advised(f'--by: "{one_line(name)}" is {what}', suggestion(name, there), allowed))


def _in_order(result: Result, factor: str, there: Iterable[str]) -> list[str]:
    """The levels as the scenario lists them; those that it does not list come last."""
    ranks: dict[str, int] = {}
    for name, values in (result.scenario.get("factors") or {}).items():
        if column_of(name) == factor:
            for rank, value in enumerate(values):
                if isinstance(value, str | int | float):
                    ranks |= {text(value): rank, str(value): rank}  # as keys have it, and as columns
    return sorted(there, key=lambda level: (ranks.get(level, len(ranks)), level))


def _varied(cells: Iterable[Levels]) -> list[str]:
    """What cells differ in, the platform first."""
    found: dict[str, set[str]] = {"platform": set()}
    for cell in cells:
        for name, level in cell.items():
            found.setdefault(name, set()).add(level)
    return [name for name, different in found.items() if len(different) > 1]


def _check_emulation(result: Result, placed: Placed, factor: str, chosen: Sequence[str]) -> None:
    """InputError where the CPU of one side alone was emulated: the change would be the emulator's."""
    provenance = read_provenance(result)
    sides = [
        {
            provenance.platform(cell["platform"]).emulated
            for cell in placed.values()
            if cell.get(factor) == level
        }
        for level in chosen
    ]
    if sides[0] != sides[1]:
        emulated = chosen[0] if True in sides[0] else chosen[1]
        raise InputError(
            f"--by: {factor}={emulated} had an emulated CPU here and the other level had not: a change would be the "
            f"emulator's, and no platform's; see each by itself: vtax show {result.directory}"
        )


def _side(whole: Side, placed: Placed, factor: str, level: str) -> Side:
    """The cells of a level, by what they differ in besides."""
    others = [name for name in _varied(placed.values()) if name != factor]
    labels = {name: level_labels(cell[name] for cell in placed.values() if name in cell) for name in others}
    names = {
        key: words({name: labels[name][cell[name]] for name in others if name in cell}) or "all"
        for key, cell in placed.items()
        if cell.get(factor) == level
    }
    return replace(
        whole,
        identity=(*whole.identity, level),
        recorded=frozenset(names[key] for key in whole.recorded if key in names),
        measured={
            (names[key], context): replace(cell, cell=names[key])
            for (key, context), cell in whole.measured.items()
            if key in names
        },
        level=f"{factor}={level}",
        names=names,
    )
