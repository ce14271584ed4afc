"""An instrument that is wrong by more than its budget misses, however wide its own interval is."""

from collections.abc import Callable

import pytest

from validation.native.busy import Took
from validation.native.checks import COMPARED, QUANTITIES, Quantity, check, checks_of
from validation.native.pairs import FLOODED, PACED, PAIRS, Found, Pair, found
from validation.section import Check
from vtax.results import TrialRecord

DELAY, CPU, PERIOD = QUANTITIES


def trial(planted_ns: float, usual_ns: float = 10_000, scale: float = 1.0) -> Found:
    """A trial in which all that was planted is found, `scale` times as large."""
    took = Took(frames=400, mean_ns=60 + planted_ns, median_ns=60 + planted_ns)
    times_ns = usual_ns + scale * planted_ns
    return Found(delay_p50_ns=times_ns, cpu_ns=times_ns, period_ns=times_ns, took=took)


def pairs(
    planted_ns: float, scale: float = 1.0, usual_ns: Callable[[int], float] = lambda at: 10_000
) -> list[Pair]:
    return [
        Pair(trial(planted_ns, usual_ns(2 * at), scale), trial(0, usual_ns(2 * at + 1)))
        for at in range(PAIRS)
    ]


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_what_is_found_whole_holds_and_a_fifth_less_does_not(quantity: Quantity) -> None:
    for planted_ns in quantity.load.planted_ns[-2:]:
        assert check("raw", quantity, planted_ns, pairs(planted_ns)).holds
        less = check("raw", quantity, planted_ns, pairs(planted_ns, scale=0.8))
        assert (less.holds, less.explanation) == (False, None)


def test_small_errors_of_what_is_small_are_within_the_budgets_floor() -> None:
    assert check("raw", DELAY, 2_000, pairs(2_000, scale=0.9)).holds
    assert not check("raw", DELAY, 2_000, pairs(2_000, scale=0.8)).holds
    assert check("raw", CPU, 100, pairs(100, scale=0.85)).holds
    assert not check("raw", CPU, 100, pairs(100, scale=0.7)).holds


def uneven(at: int) -> float:
    """Trials by turns as long as usual, and by up to 7 µs longer."""
    return 10_000 + 1_000 * (at * 5 % 8)


def test_a_machine_that_is_as_uneven_against_itself_explains_a_miss() -> None:
    missed = check("raw", DELAY, 2_000, pairs(2_000, usual_ns=uneven))
    assert not missed.holds
    assert missed.explanation is not None
    assert missed.explanation.startswith("From one round to the next the reference itself differs by [")


def test_no_unevenness_explains_an_error_beyond_it() -> None:
    missed = check("raw", DELAY, 100_000, pairs(100_000, scale=0.5, usual_ns=uneven))
    assert (missed.holds, missed.explanation) == (False, None)


def test_a_row_has_what_was_found_planted_and_missed() -> None:
    row = check("container", DELAY, 20_000, pairs(20_000, scale=1.01))
    assert row == Check(
        "container: median delay, 20,000 ns planted",
        "20.200 µs, by the program 20.000 µs: +0.200 [+0.200, +0.200] µs, n = 24",
        "within ±1.000 µs",
        holds=True,
    )


def test_each_size_of_each_quantity_has_a_row() -> None:
    series = {
        (load, planted_ns): pairs(planted_ns) for load in (PACED, FLOODED) for planted_ns in load.planted_ns
    }
    assert 2 * len(list(checks_of("raw", series))) == COMPARED == 20


def test_a_trial_is_reckoned_for_each_frame() -> None:
    record = TrialRecord(
        trial={"duration_s": 0.5},
        flows=[{"frames_received": 1_000, "received_fps": 2_000.0, "latency_p50_ns": 7_500.0}],
        cpu=[
            {"domain": "steal", "component": "total", "percent": 3.0},
            {"domain": "host", "component": "total", "percent": 40.0},
        ],
    )
    took = Took(frames=1, mean_ns=1.0, median_ns=1.0)
    assert found(record, took) == Found(7_500.0, 200_000.0, 500_000.0, took)
