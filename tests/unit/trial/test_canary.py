"""How fast CPUs were around a trial: its rows, and when a trial is suspect for it."""

from datetime import UTC, datetime

import pytest
from msgspec import structs

from tests.helpers.trials import make_cell
from vtax.agent_api import CanaryReading
from vtax.results.schema import TABLES
from vtax.trial.canary import BOUNDS, LEAST_READINGS, Band, canary_findings, canary_rows
from vtax.trial.observed import Observed
from vtax.trial.verdict import Verdict

USUAL = CanaryReading(
    cpu=0, chain_ns=1.4, parallel_ns=0.6, load_ns=150.0, system_call_ns=160.0, frame_ns=3000.0
)


def observed(before: CanaryReading = USUAL, after: CanaryReading = USUAL) -> Observed:
    """A trial around which each of two CPUs was read."""
    first, last = ({"local": [each, structs.replace(each, cpu=1)]} for each in (before, after))
    return Observed(1, make_cell(), datetime.now(UTC), canary=(first, last))


def band(trials: int) -> Band:
    """What so many usual trials leave: two readings of each CPU by each."""
    made = Band()
    for _ in range(trials):
        made.add(canary_rows(observed()))
    return made


ENOUGH = band(LEAST_READINGS // 2)


def test_each_cpu_has_a_row_before_and_after() -> None:
    rows = canary_rows(observed())
    assert [(row["cpu"], row["moment"]) for row in rows] == [
        *((0, "before"), (1, "before")),
        *((0, "after"), (1, "after")),
    ]
    assert rows[0] == {
        **{"host": "local", "cpu": 0, "moment": "before", "chain_ns": 1.4, "parallel_ns": 0.6},
        **{"load_ns": 150.0, "system_call_ns": 160.0, "frame_ns": 3000.0},
    }


def test_a_trial_that_failed_has_none() -> None:
    assert canary_rows(Observed(1, make_cell(), datetime.now(UTC))) == []


def test_a_usual_trial_is_valid() -> None:
    assert list(canary_findings(observed(), ENOUGH)) == []


def test_a_slow_cpu_is_named_by_the_work_that_shows_it_most() -> None:
    slow = structs.replace(USUAL, frame_ns=3000 * 2.5, system_call_ns=160 * 2.0)
    found = list(canary_findings(observed(after=slow), ENOUGH))
    assert [verdict for verdict, _ in found] == [Verdict.SUSPECT] * 2
    assert found[1][1] == (
        "CPU 1 of local was slow after the trial: "
        "a frame through the kernel took 2.5 times as long as the campaign's median"
    )


@pytest.mark.parametrize("work", BOUNDS)
def test_each_kind_of_work_has_its_bound(work: str) -> None:
    _, bound = BOUNDS[work]
    for times, count in ((bound * 0.99, 0), (bound * 1.01, 2)):
        slow = structs.replace(USUAL, **{work: getattr(USUAL, work) * times})
        assert len(list(canary_findings(observed(before=slow), ENOUGH))) == count


def test_what_two_speeds_of_a_shared_core_differ_by_is_no_reason() -> None:
    shared = structs.replace(USUAL, parallel_ns=0.6 * 1.9, system_call_ns=160 * 1.38, frame_ns=3000 * 1.5)
    assert list(canary_findings(observed(shared, shared), ENOUGH)) == []


def test_a_faster_cpu_is_no_reason() -> None:
    fast = CanaryReading(cpu=0, chain_ns=0.1, parallel_ns=0.1, load_ns=1.0, system_call_ns=1.0, frame_ns=1.0)
    assert list(canary_findings(observed(fast, fast), ENOUGH)) == []


def test_few_readings_are_no_median() -> None:
    slow = structs.replace(USUAL, frame_ns=30_000.0)
    few = band(LEAST_READINGS // 2 - 1)
    assert few.median_ns("local", 0, "frame_ns") is None
    assert list(canary_findings(observed(slow, slow), few)) == []


def test_each_machine_is_compared_with_itself() -> None:
    """CPU 0 of a slow machine is not CPU 0 of a fast one."""
    slow = structs.replace(USUAL, **{work: getattr(USUAL, work) * 10 for work in BOUNDS})
    trial = Observed(1, make_cell(), datetime.now(UTC), canary=({"one": [USUAL], "other": [slow]},) * 2)
    both = Band()
    for _ in range(LEAST_READINGS // 2):
        both.add(canary_rows(trial))
    assert list(canary_findings(trial, both)) == []
    trial.canary = ({"one": [slow], "other": [slow]},) * 2
    assert [reason.split(" was ")[0] for _, reason in canary_findings(trial, both)] == ["CPU 0 of one"] * 2


def test_a_work_that_took_no_time_is_no_reason() -> None:
    """An agent that lies about all of a campaign ends none."""
    nothing = structs.replace(USUAL, chain_ns=0.0)
    lied = Band()
    for _ in range(LEAST_READINGS):
        lied.add(canary_rows(observed(nothing, nothing)))
    assert list(canary_findings(observed(), lied)) == []


def test_each_kind_of_work_is_a_column() -> None:
    assert [column.name for column in TABLES["canary"].columns if column.unit == "ns"] == [*BOUNDS]
