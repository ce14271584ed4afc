"""Settings: their label, their order, and whose levels they hold."""

from collections.abc import Sequence

import pytest

from vtax.model.dimensions import GUESTS, LOAD, REQUEST
from vtax.model.levels import Levels, Setting


class Lengths(Levels, frozen=True):
    length: int

    @property
    def phrases(self) -> Sequence[str]:
        return (f"{self.length} byte",)

    @property
    def rank(self) -> tuple[int]:
        return (self.length,)


def test_a_label_names_the_levels_and_then_the_further_factors() -> None:
    assert Setting(Lengths(64)).label == "64 byte"
    assert Setting(Lengths(64), (("mtu", "1500"), ("vlan", "7"))).label == "64 byte, mtu = 1500, vlan = 7"


def test_settings_are_ordered_by_rank_and_then_by_further_factors() -> None:
    short, long, vlan = Setting(Lengths(64)), Setting(Lengths(1500)), Setting(Lengths(64), (("vlan", "7"),))
    assert sorted([long, vlan, short]) == [short, vlan, long]


def test_levels_of_another_kind_are_refused() -> None:
    assert Setting(Lengths(64)).of(Lengths).length == 64
    with pytest.raises(TypeError, match="has Levels, not Lengths"):
        Setting(Levels()).of(Lengths)


def test_the_flood_is_the_last_load() -> None:
    assert sorted([None, 1000.0, 10.0], key=LOAD.order) == [10.0, 1000.0, None]
    assert [LOAD.label(load) for load in (10.0, None)] == ["10", "max"]
    assert LOAD.phrase(None) == "the flood (max)"


def test_levels_in_a_sentence() -> None:
    assert [GUESTS.phrase(guests) for guests in (1, 8)] == ["1 guest", "8 guests"]
    assert REQUEST.phrase(64) == "64-byte requests"
