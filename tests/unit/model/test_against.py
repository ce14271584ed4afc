"""What cells have more than their references: pairs of one place, one context, one block."""

import pytest

from vtax.model.against import added_to_reference
from vtax.model.cell import Cell, Reading
from vtax.model.dimensions import GUESTS
from vtax.model.levels import Levels, Setting
from vtax.model.metrics import RESPONSE_TIME
from vtax.model.platform import Platform


def platform(name: str, *, emulated: bool = False) -> Platform:
    return Platform(name, name, name, "none", emulated, None, None)


def cell(name: str, *times_ns: float | None, level: float = 1, context: str = "own") -> Cell:
    return Cell(
        key=f"platform={name}",
        platform=name,
        setting=Setting(Levels()),
        level=level,
        uut_context=context,
        recorded=len(times_ns),
        invalid=0,
        suspect=0,
        marks={},
        blocks=range(len(times_ns)),
        columns={RESPONSE_TIME.column: times_ns},
        reading=Reading(Levels, GUESTS),
    )


NATIVE = [platform("raw"), platform("container")]


def test_the_difference_is_of_blocks_that_both_have() -> None:
    cells = [cell("raw", 10, 100, None), cell("container", 15, 105, 1000)]
    (row,) = added_to_reference(cells, RESPONSE_TIME, NATIVE)
    assert (row.cell.platform, row.reference, row.added.value, row.added.n) == ("container", "raw", 5, 2)


@pytest.mark.parametrize(
    "other", [cell("raw", 10, level=2), cell("raw", 10, context="sender"), cell("raw", None)]
)
def test_nothing_is_compared_across_levels_and_contexts_or_with_nothing(other: Cell) -> None:
    assert added_to_reference([other, cell("container", 15)], RESPONSE_TIME, NATIVE) == []


def test_emulated_platforms_are_compared_with_each_other_only() -> None:
    platforms = [*NATIVE, platform("uml", emulated=True), platform("qemu", emulated=True)]
    cells = [cell(each.name, 10 * place) for place, each in enumerate(platforms, start=1)]
    found = {row.cell.platform: row.reference for row in added_to_reference(cells, RESPONSE_TIME, platforms)}
    assert found == {"container": "raw", "qemu": "uml"}
