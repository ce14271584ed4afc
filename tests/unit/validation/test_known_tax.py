"""A tax of known size: what the lateness of a guest's timer adds to a planted delay, and to its uncertainty."""

import pytest

from validation.known_tax import (
    CASES,
    DELAY_OFF_NS,
    LONG,
    MEDIAN_DELAY,
    SHORT,
    Case,
    error_of,
    lateness,
    outside,
)
from validation.residence import Held
from vtax.platforms.egress_qdisc import DEFAULT
from vtax.statistics.interval import Interval

DELAY = Case("delayed", "netem delay 1ms", "median delay", MEDIAN_DELAY, 1e6, DELAY_OFF_NS)
STAMPED = {
    DEFAULT: {0: Held(2e3, 62e3), 1: Held(3e3, 63e3), 2: Held(4e3, 64e3)},
    "netem delay 1ms": {0: Held(1.042e6, 1.112e6), 1: Held(1.043e6, 1.113e6), 2: Held(1.045e6, 1.116e6)},
}


def test_lateness_is_what_the_guest_held_frames_longer_than_planted() -> None:
    late = lateness(STAMPED, DELAY)
    assert late is not None and late.low is not None and late.high is not None
    assert late.mean == pytest.approx((40e3 + 40e3 + 41e3) / 3)
    assert late.low < late.mean < late.high


def test_lateness_belongs_to_delays_alone() -> None:
    for case in CASES:
        asked = {case.reference: {0: Held(1.0, 2.0)}, case.qdisc: {0: Held(case.truth + 1, case.truth + 2)}}
        assert (lateness(asked, case) is not None) is (case.quantity is MEDIAN_DELAY), case
        assert lateness({case.qdisc: asked[case.qdisc]}, case) is None
    assert lateness({}, DELAY) is None


def test_what_the_kernel_does_not_account_for_was_outside_it() -> None:
    longer = outside(STAMPED, DELAY)
    assert longer is not None and longer.mean == pytest.approx((10e3 + 10e3 + 11e3) / 3)


def test_two_delays_differ_by_what_was_planted_whatever_their_timer_does() -> None:
    longer = Case("delayed", LONG, "median delay", MEDIAN_DELAY, 1e6, DELAY_OFF_NS, SHORT)
    assert lateness(STAMPED, longer) is None
    assert outside(STAMPED, longer) is None


@pytest.mark.parametrize(
    ("found", "late", "expected"),
    [
        (Interval(1.04, 1.03, 1.05, 8), None, (0.03, 0.05)),
        (Interval(1.04, 1.03, 1.05, 8), Interval(0.04, 0.04, 0.04, 5), (-0.01, 0.01)),
        # Both are uncertain by 0.01: their difference by 0.014.
        (Interval(1.04, 1.03, 1.05, 8), Interval(0.05, 0.04, 0.06, 5), (-0.02414, 0.00414)),
        (Interval(1.04, 1.03, 1.05, 8), Interval(0.04, None, None, 1), None),
        (Interval(1.0, None, None, 1), None, None),
        (None, None, None),
    ],
)
def test_an_error_is_as_uncertain_as_the_lateness_in_the_truth(
    found: Interval | None, late: Interval | None, expected: tuple[float, float] | None
) -> None:
    error = error_of(found, 1.0, late)
    assert error == (expected if expected is None else pytest.approx(expected, abs=1e-5))


def test_every_measured_part_of_the_truth_counts() -> None:
    found, late = Interval(1.06, 1.05, 1.07, 8), Interval(0.04, 0.04, 0.04, 8)
    assert error_of(found, 1.0, late, Interval(0.02, 0.02, 0.02, 8)) == pytest.approx((-0.01, 0.01))
    assert error_of(found, 1.0, late, Interval(0.02, None, None, 1)) is None


def test_a_budget_is_a_small_part_of_what_is_planted() -> None:
    assert all(case.off <= 0.2 * abs(case.truth) for case in CASES)
