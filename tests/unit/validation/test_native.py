"""An instrument that is wrong by more than its budget misses, however wide its own interval is."""

from collections.abc import Callable

import pytest

from validation.native.checks import COMPARED, check, checks_of
from validation.native.pairs import PAIRS, PLANTED_NS, Name, Pair, per_frame_ns
from validation.section import Check
from vtax.results import TrialRecord


def pairs(
    planted_ns: float, scale: float = 1.0, uneven_ns: Callable[[int], float] = lambda at: 0.0
) -> list[Pair]:
    """All that was planted is found, `scale` times as large, on a machine that is so uneven."""
    return [
        Pair(scale * planted_ns + uneven_ns(at) - uneven_ns(at + 1), planted_ns, 10_000 + uneven_ns(at))
        for at in range(PAIRS)
    ]


@pytest.mark.parametrize("name", PLANTED_NS)
def test_what_is_found_whole_holds_and_a_fifth_less_does_not(name: Name) -> None:
    for planted_ns in PLANTED_NS[name][-2:]:
        assert check("raw", name, planted_ns, pairs(planted_ns)).holds
        less = check("raw", name, planted_ns, pairs(planted_ns, scale=0.8))
        assert (less.holds, less.explanation) == (False, None)


def test_small_errors_of_what_is_small_are_within_the_budgets_floor() -> None:
    assert check("raw", "median delay", 2_000, pairs(2_000, scale=0.9)).holds
    assert not check("raw", "median delay", 2_000, pairs(2_000, scale=0.8)).holds
    assert check("raw", "CPU per frame", 100, pairs(100, scale=0.85)).holds
    assert not check("raw", "CPU per frame", 100, pairs(100, scale=0.7)).holds


def uneven_ns(at: int) -> float:
    """By turns as long as usual, and by up to 7 µs longer."""
    return 1_000 * (at * 5 % 8)


def test_a_machine_that_is_as_uneven_against_itself_explains_a_miss() -> None:
    missed = check("raw", "median delay", 2_000, pairs(2_000, uneven_ns=uneven_ns))
    assert not missed.holds
    assert missed.explanation is not None
    assert missed.explanation.startswith("From one round to the next the reference itself differs by [")


def test_no_unevenness_explains_an_error_beyond_it() -> None:
    missed = check("raw", "median delay", 100_000, pairs(100_000, scale=0.5, uneven_ns=uneven_ns))
    assert (missed.holds, missed.explanation) == (False, None)


def test_a_row_has_what_was_found_planted_and_missed() -> None:
    assert check("container", "median delay", 20_000, pairs(20_000, scale=1.01)) == Check(
        "container: median delay, 20,000 ns planted",
        "20.200 µs, by the program 20.000 µs: +0.200 [+0.200, +0.200] µs, n = 20",
        "within ±1.000 µs",
        holds=True,
    )


def test_each_size_of_each_quantity_has_a_row() -> None:
    series = {
        (name, planted_ns): pairs(planted_ns) for name, sizes in PLANTED_NS.items() for planted_ns in sizes
    }
    assert 2 * len(list(checks_of("raw", series))) == COMPARED == 20


def test_a_flood_is_reckoned_for_each_frame() -> None:
    record = TrialRecord(
        trial={"duration_s": 0.5},
        flows=[{"frames_received": 1_000, "received_fps": 2_000.0}],
        cpu=[
            {"domain": "steal", "component": "total", "percent": 3.0},
            {"domain": "host", "component": "total", "percent": 40.0},
        ],
    )
    assert per_frame_ns(record) == (200_000.0, 500_000.0)
