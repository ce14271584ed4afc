"""The columns that campaign.json lists: taken as they are told, and left out where vtax does not write such."""

from typing import Any

import pytest

from vtax.columns import Column, ColumnType
from vtax.results.mending import mend
from vtax.results.schema import MOST_COLUMNS, TRIALS, own_columns, schemas
from vtax.results.schema.former import FORMER

OWN = Column("hops", ColumnType.INT32, "relays", "relays of a ring", is_level=True)


def test_what_is_listed_stands_behind_the_platform() -> None:
    campaign = {"columns": [OWN.as_json()], "factors": ["hops", "colour"]}
    names = schemas(campaign)["trials"].names
    assert own_columns(campaign) == [OWN]
    assert names[names.index("platform") + 1] == "hops"
    assert names[-1] == "colour"
    assert len(names) == len(TRIALS.columns) + 2


def test_where_none_are_listed_there_are_those_of_all_kinds() -> None:
    assert own_columns({}) == [*FORMER]
    assert own_columns({"columns": []}) == []


@pytest.mark.parametrize(
    "told",
    [
        {**OWN.as_json(), "name": "Hops"},
        {**OWN.as_json(), "name": 'a"b'},
        {**OWN.as_json(), "name": "cell"},
        {**OWN.as_json(), "name": "x" * 64},
        {**OWN.as_json(), "type": "list<item: string>"},
        {**OWN.as_json(), "type": 3},
        {**OWN.as_json(), "unit": None},
        {**OWN.as_json(), "is_level": "yes"},
        {"name": "hops"},
        "hops",
        None,
    ],
)
def test_what_vtax_does_not_write_is_left_out(told: Any) -> None:
    campaign = {"columns": [told, OWN.as_json()]}
    assert own_columns(campaign) == [OWN]
    mend(campaign)
    assert own_columns(campaign) == [OWN]


def test_a_list_is_bounded_and_names_each_once() -> None:
    many = [{**OWN.as_json(), "name": f"column_{number}"} for number in range(2 * MOST_COLUMNS)]
    assert len(own_columns({"columns": many})) == MOST_COLUMNS
    assert own_columns({"columns": [OWN.as_json()] * 3}) == [OWN]
