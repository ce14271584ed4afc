"""A tax of known size: what the lateness of a guest's timer adds to a planted delay, and to its uncertainty."""

import pytest

from validation.known_tax import CASES, MEDIAN_DELAY, Case, holds, lateness
from vtax.platforms.egress_qdisc import DEFAULT
from vtax.statistics.interval import Interval

DELAY = Case("delayed", "netem delay 1ms", "median delay", MEDIAN_DELAY, 1e6)
STAMPED = {DEFAULT: {0: 2e3, 1: 3e3, 2: 4e3}, "netem delay 1ms": {0: 1.042e6, 1: 1.043e6, 2: 1.045e6}}


def test_lateness_is_what_the_guest_held_frames_longer_than_planted() -> None:
    late = lateness(STAMPED, DELAY)
    assert late is not None and late.low is not None and late.high is not None
    assert late.mean == pytest.approx((40e3 + 40e3 + 41e3) / 3)
    assert late.low < late.mean < late.high


def test_lateness_belongs_to_delays_alone() -> None:
    for case in CASES:
        asked = {case.reference: {0: 1.0}, case.qdisc: {0: case.truth + 1}}
        assert (lateness(asked, case) is not None) is (case.quantity is MEDIAN_DELAY), case
        assert lateness({case.qdisc: asked[case.qdisc]}, case) is None
    assert lateness({}, DELAY) is None


def test_of_two_delays_the_lateness_is_what_theirs_differ_by() -> None:
    later = Case("delayed", "netem delay 2ms", "median delay", MEDIAN_DELAY, 1e6, "netem delay 1ms")
    stamped = {"netem delay 1ms": {0: 1.04e6, 1: 1.05e6}, "netem delay 2ms": {0: 2.07e6, 1: 2.09e6}}
    late = lateness(stamped, later)
    assert late is not None and late.mean == pytest.approx((30e3 + 40e3) / 2)


@pytest.mark.parametrize(
    ("found", "late", "expected"),
    [
        (Interval(1.04, 1.03, 1.05, 8), None, False),
        (Interval(1.04, 1.03, 1.05, 8), Interval(0.04, 0.04, 0.04, 5), True),
        (Interval(1.04, 1.03, 1.05, 8), Interval(0.06, 0.06, 0.06, 5), False),
        # Both are uncertain by 0.01: their difference by 0.014.
        (Interval(1.04, 1.03, 1.05, 8), Interval(0.053, 0.043, 0.063, 5), True),
        (Interval(1.04, 1.03, 1.05, 8), Interval(0.055, 0.045, 0.065, 5), False),
        (Interval(1.04, 1.03, 1.05, 8), Interval(0.025, 0.015, 0.035, 5), False),
        (Interval(1.04, 1.03, 1.05, 8), Interval(0.04, None, None, 1), False),
        (Interval(1.0, None, None, 1), None, False),
        (None, None, False),
    ],
)
def test_the_truth_is_as_uncertain_as_the_lateness_in_it(
    found: Interval | None, late: Interval | None, expected: bool
) -> None:
    assert holds(found, 1.0, late) is expected
