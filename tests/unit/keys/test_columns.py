"""Keys as columns: which are recorded, of what type, and what is in them before a trial."""

from typing import Annotated, Literal

import pytest

from vtax.columns import Column, ColumnType
from vtax.keys.fields import Keys, Named, columns_of, key, marked
from vtax.registry.keys import KINDS


class Example(Keys):
    """Keys of each type, and one that is not recorded."""

    size_bytes: int = key("a length", "1 to 9", default=1, unit="byte")
    rate: Annotated[float | None, Named("max", "Mbit/s")] = key("a rate", "any", default=None, unit="Mbit/s")
    word: Literal["a", "b"] = key("a word", "a, b", default="a", unit="")
    number: Literal[4, 6] = key("a number", "4, 6", default=4, unit="")
    on: bool = key("whether", "true, false", default=False, unit="")
    unrecorded: int = key("something else", "any", default=1)


def test_a_key_with_a_unit_is_a_column() -> None:
    assert [*columns_of(Example)] == [
        Column("size_bytes", ColumnType.INT32, "byte", "a length", is_level=True),
        Column("rate", ColumnType.DOUBLE, "Mbit/s", "a rate", is_level=True),
        Column("word", ColumnType.STRING, "", "a word", is_level=True),
        Column("number", ColumnType.INT32, "", "a number", is_level=True),
        Column("on", ColumnType.BOOL, "", "whether", is_level=True),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_of_a_key_is_a_factor_by_that_name(kind: str) -> None:
    keys = KINDS[kind]
    names = [column.name for column in keys.columns()]
    assert len({*names}) == len(names)
    assert {*names} - {column.name for column in keys.recorded} <= {*marked(keys, "short")}
