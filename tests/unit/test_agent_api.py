"""The types of the agent's params and answers, as they read and write JSON."""

from typing import Any

import msgspec
import pytest

from vtax.agent_api import (
    AgentApi,
    CapturedFrame,
    ClientSamplesAnswer,
    GuestSetEgressQdiscParams,
    QdiscTbf,
    RelayLoadFields,
    RelayOpenParams,
    RelayParams,
    RelaySamplesAnswer,
    SourceRunAnswer,
    SourceRunParams,
    SourceStream,
)
from vtax.agent_message import Answer, Message, Pending


def decode(answer: type[Answer], value: dict[str, Any]) -> Answer:
    return msgspec.json.decode(msgspec.json.encode(value), type=answer)


FRAME = {"bytes": "AAAA", "frame_bytes": 64, "time_ns": 1}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"time_ns": -1}, r"Expected `int` >= 0 - at `\$.time_ns`"),
        ({"time_ns": "1"}, r"Expected `int`, got `str` - at `\$.time_ns`"),
        ({"time_ns": 1.5}, r"Expected `int`, got `float` - at `\$.time_ns`"),
        ({"bytes": None}, r"Expected `str`, got `null` - at `\$.bytes`"),
        ({"more": 1}, "unknown field `more`"),
    ],
)
def test_an_answer_that_does_not_match_is_refused_by_its_field(changes: dict[str, Any], problem: str) -> None:
    assert decode(CapturedFrame, FRAME).frame_bytes == 64
    with pytest.raises(msgspec.ValidationError, match=problem):
        decode(CapturedFrame, FRAME | changes)


def test_an_answer_with_a_field_missing_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="missing required field `frame_bytes`"):
        decode(CapturedFrame, {"bytes": "", "time_ns": 1})


def test_pairs_lists_and_nulls_are_typed() -> None:
    samples = decode(RelaySamplesAnswer, {"iterations": 2, "ns": [5, 6], "undone": [[1, "timeout"]]})
    assert samples.undone == [(1, "timeout")]
    with pytest.raises(msgspec.ValidationError, match=r"undone\[0\]\[1\]"):
        decode(RelaySamplesAnswer, {"iterations": 2, "ns": [5, 6], "undone": [[1, "late"]]})
    assert decode(ClientSamplesAnswer, {"samples": 2, "ns": [None, 3]}).ns == [None, 3]


def test_what_an_answer_may_leave_out_is_none() -> None:
    run = {
        "aborted": False,
        "cpu_latency_held": True,
        "end_ns": 2,
        "mechanism": "raw",
        "start_ns": 1,
        "streams": [],
    }
    thread = {"cpu": 0, "others": None, "time": None}
    assert decode(SourceRunAnswer, run | {"threads": [thread]}).threads[0].lag_ns is None
    lag = {"max": 3, "p50": 1, "p99": 2}
    found = decode(SourceRunAnswer, run | {"threads": [thread | {"lag_ns": lag}]}).threads[0].lag_ns
    assert found is not None and found.p99 == 2


def test_params_that_are_not_given_are_not_sent() -> None:
    params = SourceRunParams(trial=1, frame_bytes=64, mechanism="raw", probe_fps=10.0, phases=[])
    assert params.flows == 1 and params.intended_fps is None
    expected = {"trial": 1, "frame_bytes": 64, "mechanism": "raw", "probe_fps": 10.0, "phases": []}
    assert msgspec.to_builtins(params) == expected


def test_variants_are_written_as_the_agent_reads_them() -> None:
    bucket = QdiscTbf(rate_bps=8, burst_bytes=1514, limit_bytes=1, overhead_bytes=0)
    written = msgspec.to_builtins(GuestSetEgressQdiscParams(macs=[], qdisc=bucket))
    assert written["qdisc"]["kind"] == "tbf"
    for load, expected in ("nothing", "nothing"), (RelayLoadFields(output="line"), {"output": "line"}):
        relay = RelayParams(mode="master", message_bytes=4, load=load)  # type: ignore[arg-type]
        assert msgspec.to_builtins(RelayOpenParams(relays=[relay]))["relays"][0]["load"] == expected


class Recorder:
    """A caller that answers with what it was given."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.asked: list[tuple[str, Message, float | None]] = []
        self._answer = answer

    def call(self, method: str, params: Message, answer: type[Answer], timeout_s: float) -> Answer:
        self.asked.append((method, params, timeout_s))
        return decode(answer, self._answer)

    def begin(self, method: str, params: Message, answer: type[Answer]) -> Pending[Answer]:
        self.asked.append((method, params, None))
        return lambda timeout_s=0.0: decode(answer, self._answer)


def test_a_method_is_called_by_its_name_with_its_types() -> None:
    caller = Recorder({"mechanisms": ["raw"], "refused": []} | {"streams": [], "ended": []})
    api = AgentApi(caller)
    with pytest.raises(msgspec.ValidationError):  # of another type than source.open answers
        api.stress_collect(3.0)
    waiting = api.begin_server_watch()
    with pytest.raises(msgspec.ValidationError):
        waiting()
    assert [(method, timeout_s) for method, _, timeout_s in caller.asked] == [
        ("stress.collect", 3.0),
        ("server.watch", None),
    ]


def test_messages_cannot_be_changed() -> None:
    stream = decode(CapturedFrame, FRAME)
    with pytest.raises(AttributeError, match="immutable"):
        stream.time_ns = 2  # type: ignore[misc]
    assert SourceStream.__struct_config__.forbid_unknown_fields
