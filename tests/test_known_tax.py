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


def test_lateness_belongs_to_delays_against_no_discipline_alone() -> None:
    for case in CASES:
        asked = {DEFAULT: {0: 1.0}, case.qdisc: {0: case.truth + 1}}
        own = case.quantity is MEDIAN_DELAY and case.reference == DEFAULT
        assert (lateness(asked, case) is not None) is own, case
    assert lateness({}, DELAY) is None


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
