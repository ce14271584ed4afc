"""Answers that match their types: which contradict themselves."""

from typing import Any

import pytest
from msgspec import convert, to_builtins

from vtax import agent_api
from vtax.agent_api import (
    EchoCollectAnswer,
    GuestStateAnswer,
    RelayGoAnswer,
    SinkCost,
    SinkOpenAnswer,
    StressCollectAnswer,
)
from vtax.machine.plausible import _plan, contradiction, overlong

LATENCY: dict[str, Any] = {
    **{"count": 3, "histogram": "", "min_ns": 10, "mean_ns": 20.0, "max_ns": 30},
    **{"p50_ns": 20, "p90_ns": None, "p99_ns": None, "p999_ns": None},
}
ECHO: dict[str, Any] = {
    **{"duplicated": 0, "last_problem": None, "lost": 1, "received": 3, "sent": 4, "strays": 0},
    "latency": LATENCY,
}


def echo(**latency: Any) -> EchoCollectAnswer:
    known = {name: value for name, value in ECHO.items() if name in EchoCollectAnswer.__struct_fields__}
    return convert({**known, "latency": {**LATENCY, **latency}}, type=EchoCollectAnswer)


@pytest.mark.parametrize(
    ("latency", "problem"),
    [
        ({}, None),
        ({"p50_ns": 30, "max_ns": 30}, None),
        ({"count": 0}, "latency.count: 0, with min_ns 10 and max_ns 30"),
        ({"min_ns": None}, "latency.count: 3, with min_ns None and max_ns 30"),
        ({"mean_ns": -1.0}, "latency.mean_ns: -1 is negative or endless"),
        ({"mean_ns": 1e300}, "latency.mean_ns: 1e+300 is not from min_ns 10 to max_ns 30"),
        ({"p50_ns": 40}, "latency.max_ns: 30 is less than p50_ns 40"),
        ({"min_ns": 25}, "latency.p50_ns: 20 is less than min_ns 25"),
    ],
)
def test_statistics_of_the_same_values(latency: dict[str, Any], problem: str | None) -> None:
    assert contradiction(echo(**latency)) == problem


def test_parts_of_a_whole() -> None:
    answer = convert({**to_builtins(echo()), "received": 5}, type=EchoCollectAnswer)
    assert contradiction(answer) == "received: 5 of sent 4"


def test_an_interface_receives_more_than_it_sends() -> None:
    nic = {
        **{"interface": "eth0", "mac": "02:00:00:00:00:01", "ready": True, "received": 9, "sent": 1},
        **{"dropped_in": 0, "dropped_out": 0, "dropped_queue": 0},
    }
    state = {"interfaces": [nic], "clock_offset_ns": -1, "oom_kills": None}
    assert contradiction(convert(state, type=GuestStateAnswer)) is None


def test_a_run_ends_after_it_begins_and_within_its_call() -> None:
    run = RelayGoAnswer(start_ns=5, end_ns=4, given_up=False, cpu_latency_held=True)
    assert contradiction(run) == "end_ns: 4 is before start_ns 5"
    long = RelayGoAnswer(start_ns=0, end_ns=60 * 10**9, given_up=False, cpu_latency_held=True)
    assert contradiction(long) is None
    assert overlong(long, 58.0) is None, "an emulated machine's clock may catch up"
    assert overlong(long, 1.0) == "end_ns: 60.0 s after start_ns, of a call of 1.0 s"
    assert overlong(echo(), 0.0) is None


def test_numbers_with_a_fraction_are_not_negative() -> None:
    work = StressCollectAnswer(aborted=False, duration_s=-0.1, workers=[])
    assert contradiction(work) == "duration_s: -0.1 is negative or endless"
    sink = SinkOpenAnswer(cost=SinkCost(counted_ns=float("inf"), timed_ns=1.0, probe_ns=1.0), streams=[])
    assert contradiction(sink) == "cost.counted_ns: inf is negative or endless"


def test_every_answer_of_the_contract_can_be_checked() -> None:
    plans = {name: _plan(kind) for name, kind in vars(agent_api).items() if name.endswith("Answer")}
    assert len(plans) > 20
    assert plans["EchoCollectAnswer"].within == ("latency",)
    assert {name for name, plan in plans.items() if plan.intervals} >= {"RelayGoAnswer", "SenderGoAnswer"}
