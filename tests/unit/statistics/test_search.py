"""Loads by their loss, on a unit under test of known capacity."""

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vtax.statistics.replay import replay
from vtax.statistics.search import Bounds, Outcome, ReplayError, Search, Step

FRAMES_PER_MBIT = 100
SEARCH = Search({"NDR": 0.0, "PDR": 0.005}, 0.01, 0.5, 1.0, 21.0, 1.0, 1000.0)


def forwards(capacity_mbps: float) -> Callable[[Step], Outcome]:
    def carry(step: Step) -> Outcome:
        sent = round(step.intended_mbps * FRAMES_PER_MBIT * step.duration_s)
        received = min(sent, int(capacity_mbps * FRAMES_PER_MBIT * step.duration_s))
        return Outcome(step.intended_mbps, sent, sent, received)

    return carry


def search(carry: Callable[[Step], Outcome], goals: Search = SEARCH) -> tuple[list[Bounds], list[Outcome]]:
    outcomes: list[Outcome] = []
    while isinstance(step := replay(goals, outcomes), Step):
        outcomes.append(carry(step))
    return step, outcomes


@pytest.mark.slow
@given(st.floats(2, 950))
@example(781.94921875)
def test_the_bounds_hold_the_capacity_and_are_as_close_as_asked_for(capacity: float) -> None:
    (ndr, pdr), outcomes = search(forwards(capacity))
    for bounds, truth in ((ndr, capacity), (pdr, capacity / 0.995)):
        assert bounds.lower_mbps is not None and bounds.upper_mbps is not None
        # Frames are whole: what comes is rounded down, what is sent to the nearest.
        granule = 1 / FRAMES_PER_MBIT / 0.995 + 0.5 / FRAMES_PER_MBIT
        assert bounds.lower_mbps - granule <= truth <= bounds.upper_mbps + granule
        assert bounds.upper_mbps - bounds.lower_mbps <= 0.0101 * bounds.upper_mbps
    assert pdr.conditional_mbps == pytest.approx(capacity, rel=0.011)
    two_binary_searches_s = 2 * 7 * 60  # 999 Mbit/s halved seven times are wider still than 1% of 500
    assert len(outcomes) * 1.0 <= two_binary_searches_s / 10


def test_a_platform_that_carries_all_has_no_upper_bound() -> None:
    (ndr, pdr), _ = search(forwards(2000))
    assert (ndr.lower_mbps, ndr.upper_mbps, ndr.conditional_mbps) == (1000.0, None, 1000.0)
    assert pdr.upper_mbps is None


def test_a_platform_that_carries_nothing_has_no_lower_bound() -> None:
    (ndr, _), _ = search(forwards(0.1))
    assert (ndr.lower_mbps, ndr.upper_mbps, ndr.conditional_mbps) == (None, 1.0, None)


def test_frames_that_were_to_be_sent_and_were_not_count_as_lost() -> None:
    def short(step: Step) -> Outcome:
        intended = round(step.intended_mbps * FRAMES_PER_MBIT * step.duration_s)
        sent = min(intended, 300 * FRAMES_PER_MBIT)
        return Outcome(step.intended_mbps, intended, sent, sent)

    (ndr, _), _ = search(short)
    assert ndr.lower_mbps is not None and ndr.upper_mbps is not None
    assert ndr.lower_mbps <= 300.0 <= ndr.upper_mbps


@pytest.mark.slow
@given(st.floats(2, 950), st.data())
def test_the_same_trials_lead_to_the_same_step(capacity: float, data: st.DataObject) -> None:
    _, outcomes = search(forwards(capacity))
    killed_after = data.draw(st.integers(0, len(outcomes) - 1))
    step = replay(SEARCH, outcomes[:killed_after])
    assert isinstance(step, Step)
    assert step.intended_mbps == outcomes[killed_after].intended_mbps


def test_trials_of_another_search_are_refused() -> None:
    _, outcomes = search(forwards(100))
    with pytest.raises(
        ReplayError, match="trial 1 of the search was at 5 Mbit/s; this search wants it at 1000"
    ):
        replay(SEARCH, [Outcome(5.0, 10, 10, 10)])
    with pytest.raises(ReplayError, match=f"ends after {len(outcomes)} trials"):
        replay(SEARCH, [*outcomes, outcomes[-1]])
