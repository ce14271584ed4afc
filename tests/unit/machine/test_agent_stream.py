"""The controller's end of an agent's stream, when the agent at the other end is broken or hostile."""

import json
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Raw

from tests.helpers.agents import GREETING, HELLO, PLAYED, VALUES, close, played
from vtax.agent_api import LONGEST_LINE_BYTES, CpuOpenParams, RelayGoAnswer
from vtax.machine.agent import Agent, AgentBreach, AgentError, AgentGone

SILENCE_S = 0.02
NONE = Raw(b"{}")

pytestmark = pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")


def start(directory: Path, first: bytes, then: bytes) -> Agent:
    texts = directory / "first", directory / "then"
    for path, content in zip(texts, (first, then), strict=True):
        path.write_bytes(content)
    return played([PLAYED, *map(str, texts)])


def said(directory: Path, first: bytes, then: bytes) -> str:
    """What a caller is told of an agent that says hello in `first` and answers a ping with `then`."""
    agent = start(directory, first, then)
    try:
        agent.wait_hello(5.0)
        with pytest.raises((AgentGone, AgentError)) as caught:
            agent.api.ping(timeout_s=5.0)
    finally:
        close(agent)
    return str(caught.value)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"[]\n", "played: sent what is neither hello nor an answer (b'[]\\n') during ping"),
        (b"nonsense\n", "sent what is no JSON (b'nonsense\\n')"),
        (b"\xff\xfe\n", "sent what is no JSON"),
        (b"[" * 60_000 + b"\n", "sent what is neither hello nor an answer"),
        (b'{"id":1,"result":' + b"[" * 60_000 + b"\n", "sent what is no JSON"),
        (b'{"id":1,"result":' + b"[" * 30_000 + b"]" * 30_000 + b"}\n", "played: "),
        (b'{"id":2,"result":{}}\n', "sent what is neither hello nor an answer"),
        (b'{"id":[],"result":{}}\n', "sent what is neither hello nor an answer"),
        (b'{"id":1}\n', "sent what is neither hello nor an answer"),
        (b'{"id":1,"error":"broken"}\n', "sent what is neither hello nor an answer"),
        (HELLO, "sent what is neither hello nor an answer"),
        (b'{"id":1,"error":{"message":"no link"}}\n', "played: ping: no link"),
        (
            b'{"id":null,"error":{"message":"expected value"}}\n',
            "could not read what it was sent ('expected value')",
        ),
        (b"x" * LONGEST_LINE_BYTES, f"sent a line longer than {LONGEST_LINE_BYTES} bytes (b'xxx"),
    ],
)
def test_what_breaks_the_protocol_is_named(tmp_path: Path, answer: bytes, expected: str) -> None:
    assert expected in said(tmp_path, HELLO, answer)


def test_a_breach_is_the_agents_failure_and_an_end_is_not(tmp_path: Path) -> None:
    for answer, failed in ((b"nonsense\n", True), (b'{"half', False), (b"", False)):
        agent = start(tmp_path, HELLO, answer)
        agent.wait_hello(5.0)
        with pytest.raises(AgentGone):
            agent.api.ping(timeout_s=2.0)
        close(agent)
        assert (agent.death is not None) is failed, answer


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"interfaces": [], "clock_offset_ns": 0}, "missing required field `oom_kills`"),
        ({"interfaces": [{}], "clock_offset_ns": 0, "oom_kills": 1}, "at `$.interfaces[0]`"),
        ({"interfaces": [], "clock_offset_ns": "0", "oom_kills": 1}, "at `$.clock_offset_ns`"),
        ({"interfaces": [], "clock_offset_ns": 0, "oom_kills": -1}, "`int` >= 0 - at `$.oom_kills`"),
        ({"interfaces": [], "clock_offset_ns": 0, "oom_kills": 1, "\x1b[2J": 1}, "unknown field `\\x1b[2J`"),
        ([], "Expected `object`, got `array`"),
        (None, "Expected `object`, got `null`"),
    ],
)
def test_an_answer_of_another_type_ends_the_call_and_names_the_field(
    tmp_path: Path, answer: Any, problem: str
) -> None:
    agent = start(tmp_path, HELLO, json.dumps({"id": 1, "result": answer}).encode() + b"\n")
    agent.wait_hello(5.0)
    with pytest.raises(AgentBreach) as caught:
        agent.api.guest_state(timeout_s=5.0)
    assert str(caught.value).startswith("played: answered guest.state with what is not of its type (")
    assert problem in str(caught.value)
    assert agent.death is None
    close(agent)


def test_a_call_lasts_from_before_it_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The controller's thread may wait for its CPU as it has sent it, while the agent carries it out."""
    ran = {"start_ns": 0, "end_ns": 4_000_000_000, "given_up": False, "cpu_latency_held": True}
    agent = start(tmp_path, HELLO, json.dumps({"id": 1, "result": ran}).encode() + b"\n")
    agent.wait_hello(5.0)
    now_s, send = [0.0], agent._send

    def slowly(stream: IO[bytes], line: bytes) -> None:
        send(stream, line)
        now_s[0] += 5.0

    monkeypatch.setattr(agent, "_send", slowly)
    monkeypatch.setattr("vtax.machine.agent.time", SimpleNamespace(monotonic=lambda: now_s[0]))
    answer = agent.begin("relay.go", NONE).typed(RelayGoAnswer, 5.0)
    assert answer.end_ns == ran["end_ns"]
    close(agent)


def test_a_param_beyond_its_bound_is_not_sent(tmp_path: Path) -> None:
    agent = start(tmp_path, HELLO, b'{"id":1,"result":{}}\n')
    agent.wait_hello(5.0)
    with pytest.raises(AgentError, match=r"^played: cpu.open: hz: Expected `int` <= 10000$"):
        agent.api.cpu_open(CpuOpenParams(hz=10_001))
    agent.api.cpu_open(CpuOpenParams(hz=10_000), timeout_s=5.0)
    close(agent)


def test_a_hello_of_another_type_is_named(tmp_path: Path) -> None:
    agent = start(tmp_path, HELLO.replace(b'"cpus": 1', b'"cpus": "1"'), b"")
    with pytest.raises(AgentBreach, match=r"said hello with .* at `\$.cpus`"):
        agent.wait_hello(5.0)
    close(agent)


def test_a_whole_line_may_fill_the_limit(tmp_path: Path) -> None:
    frame = b'{"id":1,"result":"%s"}\n'
    text = b"x" * (LONGEST_LINE_BYTES - len(frame) + 2)
    agent = start(tmp_path, HELLO, frame % text)
    agent.wait_hello(5.0)
    assert agent.begin("text", Raw(b"{}")).wait(5.0) == Raw(b'"%s"' % text)
    close(agent)


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (b'{"method":"hello","params":[]}\n', "sent what is neither hello"),
        (b'{"method":"hello"}\n', "sent what is neither hello"),
        (b'{"method":"hello","params":{"protocol":2}}\n', "speaks protocol 2, not 1"),
        (b'{"method":"hello","params":{"protocol":{}}}\n', "speaks protocol {}, not 1"),
        (b"", "no hello within"),
    ],
)
def test_a_wrong_hello_is_named(tmp_path: Path, first: bytes, expected: str) -> None:
    agent = start(tmp_path, first, b"")
    with pytest.raises(AgentGone) as caught:
        agent.wait_hello(SILENCE_S if not first else 5.0)
    assert expected in str(caught.value)
    close(agent)


def test_an_end_within_a_line_is_named() -> None:
    agent = played(["printf '{\"method\"'"])
    with pytest.raises(AgentGone, match=r"its stream ended within a line .* before it said hello"):
        agent.wait_hello(5.0)
    close(agent)


@pytest.mark.slow
def test_a_line_without_end_is_not_kept() -> None:
    """100 MB, of which the reader takes the longest line there may be; the rest stays where it is."""
    agent = played(["exec head -c 100000000 /dev/zero"])
    with pytest.raises(AgentGone, match="longer than"):
        agent.wait_hello(5.0)
    assert agent.gone
    with pytest.raises(AgentGone, match=r"longer than 65536 bytes .* before it was asked to ping"):
        agent.api.ping()
    close(agent)


MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": VALUES,
        "id": st.just(1) | VALUES,
        "method": st.just("hello") | VALUES,
        "params": st.just(GREETING) | VALUES,
        "result": VALUES,
        "error": st.just({"message": "no"}) | VALUES,
    },
)


def line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


LINES = st.one_of(
    MESSAGES.map(line),
    MESSAGES.map(line).map(lambda text: text[: len(text) // 2]),
    VALUES.map(line),
    st.binary(max_size=60).map(lambda text: text + b"\n"),
    st.integers(1, 70_000).map(lambda depth: b"[" * depth + b"\n"),
    st.integers(1, 5000).map(lambda digits: b"9" * digits + b"\n"),
    st.just(HELLO),
)
STREAMS = st.lists(LINES, max_size=3).map(b"".join)


@pytest.mark.slow
@pytest.mark.fuzz
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.just(HELLO) | STREAMS, STREAMS)
def test_no_agent_breaks_or_holds_its_reader(tmp_path: Path, first: bytes, then: bytes) -> None:
    agent = start(tmp_path, first, then)
    begun = time.monotonic()
    for act in (lambda: agent.wait_hello(SILENCE_S), lambda: agent.api.ping(timeout_s=SILENCE_S)):
        try:
            act()
        except (AgentGone, AgentError) as error:
            assert str(error).startswith("played: ")
            assert len(str(error)) < 300
    assert time.monotonic() - begun < 30.0
    close(agent)


FLOOD = "yes {} | head -c 200000000 & exec cat >/dev/null"
"""200 MB: as good as no end."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("''", "sent blank lines"),
        ('\'{{"method":"died","params":{{"reason":"fell over"}}}}\'', "sent what is neither hello"),
        ('\'{{"method":"read","params":{{"bytes":0}}}}\'', "says it read what it was not sent"),
        ('\'{{"method":"read","params":{{"bytes":100}}}}\'', "says it read what it was not sent"),
    ],
    ids=["blank lines", "died", "read nothing", "read too much"],
)
def test_lines_without_end_cost_no_cpu_time(said: str, problem: str) -> None:
    """Before, the reader took as many as came, for ever."""
    command = ["sh", "-c", FLOOD.format(said.format())]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    agent = Agent("played", process, window_bytes=4096)
    begun = time.process_time()
    with pytest.raises(AgentGone, match=f"^played: {problem}"):
        agent.wait_hello(5.0)
    assert time.process_time() - begun < 5.0
    assert agent.gone
    close(agent)


def test_one_blank_line_may_end_what_a_dead_agent_left(tmp_path: Path) -> None:
    agent = start(tmp_path, HELLO, b'\n{"id":1,"result":{}}\n')
    agent.wait_hello(5.0)
    agent.api.ping(timeout_s=5.0)
    close(agent)


def test_a_late_answer_is_nobody_elses(tmp_path: Path) -> None:
    """The call that timed out is over; its answer is dropped when it comes, and no second one is taken."""
    script = 'cat "$0"; read -r _first; read -r _second; cat "$1"; exec cat >/dev/null'
    texts = tmp_path / "first", tmp_path / "then"
    texts[0].write_bytes(HELLO)
    texts[1].write_bytes(b'{"id":1,"result":{"late":1}}\n{"id":2,"result":{"own":1}}\n{"id":1,"result":{}}\n')
    agent = played([script, *map(str, texts)])
    agent.wait_hello(5.0)
    with pytest.raises(AgentGone, match="no answer to text within"):
        agent.begin("text", NONE).wait(SILENCE_S)
    assert agent.begin("text", NONE).wait(5.0) == Raw(b'{"own":1}')
    assert agent._waiting == {}
    with pytest.raises(AgentGone, match="sent what is neither hello nor an answer"):
        agent.begin("text", NONE).wait(5.0)
    close(agent)


def test_an_agent_that_reads_nothing_holds_nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Before, the controller waited for ever once the pipe was full."""
    monkeypatch.setattr("vtax.machine.agent.CALL_TIMEOUT_S", 0.2)
    (tmp_path / "hello").write_bytes(HELLO)
    agent = played(['cat "$0"; exec sleep 60', str(tmp_path / "hello")])
    agent.wait_hello(5.0)
    asked = Raw(b'{"text":"%s"}' % (b"x" * 60_000))
    with pytest.raises(
        AgentGone, match=r"^played: read nothing of a request for 0.2 s when it was asked to text$"
    ):
        for _ in range(3):
            agent.begin("text", asked)
    with pytest.raises(AgentGone, match=r"read nothing of a request for 0.2 s before it was asked to ping"):
        agent.api.ping()
    assert agent.death == "read nothing of a request for 0.2 s"
    agent.close(0.1)
