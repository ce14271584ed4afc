"""Catalogues: what each declares is whole, and goes together with what scenarios, claims and results know."""

from types import NoneType
from typing import get_args, get_type_hints

import pytest

from vtax.model.catalogue import Catalogue
from vtax.registry.catalogues import CATALOGUES
from vtax.registry.keys import KINDS
from vtax.results.schema import TRIALS

each = pytest.mark.parametrize("catalogue", CATALOGUES.values(), ids=CATALOGUES)


@each
def test_its_kind_can_be_asked_for(catalogue: Catalogue) -> None:
    assert catalogue.kind in KINDS


@each
def test_its_levels_are_columns_of_trials(catalogue: Catalogue) -> None:
    """Of those that kinds share, one may record some that others do not: these are null there."""
    dimension, levels = catalogue.reading.dimension, get_type_hints(catalogue.reading.levels)
    there = {column.name for column in (*TRIALS.columns, *KINDS[catalogue.kind].columns())}
    assert dimension is None or (dimension.column in there and dimension.column not in levels)
    assert {name for name in levels if name not in there and NoneType not in get_args(levels[name])} == set()


@each
def test_what_it_is_for_is_shown(catalogue: Catalogue) -> None:
    assert catalogue.main in catalogue.shown


@each
def test_quantities_are_told_apart_and_have_their_unit_in_the_name(catalogue: Catalogue) -> None:
    names = [quantity.name for quantity in catalogue.claimed]
    assert len({*names}) == len(names)
    suffixes = {"Mbit/s": "_mbps", "µs": "_ns", "% CPU": "_percent", "%": "_ratio", "": ""}
    assert all(each.name.endswith(suffixes[each.unit]) for each in catalogue.claimed)


@each
def test_metrics_and_tables_are_told_apart(catalogue: Catalogue) -> None:
    for names in (
        [metric.name for metric in catalogue.shown],
        [metric.column for metric in catalogue.shown],
        [table.name for table in (*catalogue.tables, *catalogue.added)],
    ):
        assert len({*names}) == len(names)
