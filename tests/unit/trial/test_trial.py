"""The template of a trial: its phases in their order, and what a trial is that fails in one of them."""

import gc
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from tests.helpers.trials import make_cell, make_measured
from vtax.keys.workload import TimedKeys
from vtax.machine.agent import AgentError
from vtax.results import Row, TrialRecord
from vtax.trial.observed import Observed
from vtax.trial.verdict import Finding, Verdict
from vtax.trial.window_trial import WindowTrial, sample_times_s

PHASES = ["open", "arm", "go", "observe", "collect", "close"]
PLACE = {"block": 0}


class Noted(WindowTrial[Any]):
    """A trial that takes note of its phases, and fails in one of them."""

    def __init__(self, observed: Observed, fails_in: str = "", error: Exception | None = None) -> None:
        super().__init__(observed)
        self.phases: list[str] = []
        self._fails_in, self._error = fails_in, error or AgentError("the agent does not answer")

    def note(self, phase: str) -> None:
        self.phases.append(phase)
        if phase == self._fails_in:
            raise self._error

    def open(self, path: Any, opened: ExitStack) -> None:
        opened.callback(self.phases.append, "close")
        self.note("open")

    def arm(self) -> None:
        self.note("arm")

    def go(self, begin: float) -> float:
        self.collects_garbage = gc.isenabled()
        self.note("go")
        return begin - 10  # so long ago that nobody waits for its window

    def count_far_end(self, path: Any) -> None:
        self.collects_garbage |= gc.isenabled()
        if self.phases[-1] != "observe":
            self.note("observe")

    def collect(self) -> None:
        self.note("collect")
        self.number = 7

    def findings(self) -> Iterator[Finding]:
        yield Verdict.VALID, f"number {self.number}"

    def interference(self) -> Iterator[Finding]:
        yield Verdict.VALID, "somebody was beside it"

    def columns(self) -> Row:
        return {"load": "own"}

    def rows(self) -> TrialRecord:
        return TrialRecord(trial={"hops": self.number}, flows=[{"role": "victim"}])

    def key_figure(self) -> str:
        return f"{self.number} of 7"


@pytest.fixture
def path() -> Any:
    """A path on which nothing happens."""
    measured = make_measured(make_cell())
    activity = measured.interference
    assert activity is not None and measured.cpu is not None
    states = {name: before for name, (before, _) in measured.guests.items()}
    before, after = measured.cpu
    times = iter((before, after))
    return SimpleNamespace(
        surroundings=lambda: activity[0],
        owners=lambda: {"threads": {}, "processes": {}},
        bridge_netfilter=dict,
        beside_uut=[],
        guest_states=lambda: states,
        neighbours=SimpleNamespace(
            open=lambda _: None, go=lambda _: None, collect=lambda: measured.beside, close=lambda: None
        ),
        cpu_meter=SimpleNamespace(arm=lambda *_: None, read=lambda: None),
        canary=SimpleNamespace(read=dict),
        testbed=SimpleNamespace(uut=SimpleNamespace(counters=lambda _: next(times))),
        uut_cpus=[1],
    )


def observed() -> Observed:
    return Observed(1, make_cell(duration_s=1.0), datetime.now(UTC))


def test_cpu_time_is_first_counted_while_it_warms_up_if_there_is_room() -> None:
    def times_s(warmup_s: float) -> tuple[float, float]:
        return sample_times_s(make_cell(warmup_s=warmup_s, duration_s=1.0).of(TimedKeys))

    assert times_s(0.2) == pytest.approx((0.185, 1.17))
    assert times_s(0.03) == pytest.approx((0.015, 1.0))
    assert times_s(0.02) == pytest.approx((0.05, 0.99))
    assert times_s(0.0) == pytest.approx((0.03, 0.97))


def test_a_trial_goes_through_all_phases_and_is_judged(path: Any) -> None:
    trial = Noted(observed())
    trial.measure(path, path.guest_states())
    assert trial.phases == PHASES
    assert not trial.collects_garbage
    assert gc.isenabled()
    finished = trial.finish()
    assert finished.judgement.reasons == ("number 7", "somebody was beside it")
    assert (finished.headline, finished.broken) == ("7 of 7", False)
    rows = finished.rows(PLACE, "local")
    assert (rows.trial["block"], rows.trial["load"], rows.trial["hops"]) == (0, "own", 7)
    assert rows.flows == [{"role": "victim"}]
    assert {(row["domain"], row["component"]) for row in rows.cpu} >= {
        ("host", "total"),
        ("host", "ingress in0"),
    }


@pytest.mark.parametrize("phase", PHASES[:-1])
def test_a_trial_that_fails_is_closed_and_still_a_row(phase: str, path: Any) -> None:
    trial = Noted(observed(), phase)
    trial.measure(path, path.guest_states())
    assert trial.phases == [*PHASES[: PHASES.index(phase) + 1], "close"]
    assert gc.isenabled()
    finished = trial.finish()
    assert finished.judgement.reasons == ("instrument failed: the agent does not answer",)
    assert (finished.judgement.verdict, finished.headline, finished.broken) == (
        Verdict.INVALID,
        "the agent does not answer",
        True,
    )
    rows = finished.rows(PLACE, "local")
    assert (rows.trial["load"], rows.trial["duration_s"], rows.flows, rows.cpu) == ("own", None, [], [])
    assert "hops" not in rows.trial


def test_what_was_collected_and_makes_no_sense_is_no_end_of_a_campaign(path: Any) -> None:
    class Senseless(Noted):
        def key_figure(self) -> str:
            return f"{self.number / 0}"

    trial = Senseless(observed())
    trial.measure(path, path.guest_states())
    finished = trial.finish()
    assert finished.judgement.verdict is Verdict.INVALID
    assert finished.judgement.reasons[0].startswith("instrument failed: answers of the guest")
    assert "ZeroDivisionError" in finished.headline


def test_an_error_of_vtax_itself_is_raised(path: Any) -> None:
    class Broken(Noted):
        def columns(self) -> Row:
            raise KeyError("load")

    trial = Broken(observed(), "open")
    trial.measure(path, path.guest_states())
    with pytest.raises(KeyError):
        trial.finish().rows(PLACE, "local")
