"""What `vtax host --stdio` makes of what it hears: one answer to each line, whatever stands in it."""

import hashlib
import io
import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from vtax.agent_api import CpuOpenParams, SourceCalibrateParams
from vtax.inputs import InputError
from vtax.machine.agent import AgentBreach, AgentError
from vtax.machine.ownership import OwnershipRecord
from vtax.platforms import PlatformUnusable
from vtax.testbed.host import Host
from vtax.testbed.remote.errors import decode_error
from vtax.testbed.remote.machine import RemoteHost
from vtax.testbed.remote.server import ACTS, Server


def answers(*lines: bytes, directory: Path = Path("/nowhere")) -> list[dict[str, Any]]:
    """What a server says to some lines, after its hello."""
    told = io.BytesIO()
    Server(OwnershipRecord("vtax-test-server", directory), told).serve(io.BytesIO(b"".join(lines)))
    hello, *rest = [json.loads(line) for line in told.getvalue().splitlines()]
    assert hello["method"] == "hello"
    return rest


def line(method: str, **parameters: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": parameters}).encode() + b"\n"


def test_what_is_asked_is_answered() -> None:
    (answer,) = answers(line("machine.ping"))
    assert answer["id"] == 7
    assert answer["result"] > 0


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (line("machine._here"), "no method machine._here"),
        (line("machine.__init__"), "no method machine.__init__"),
        (line("host._agent", host="uut", arguments={}), "no method host._agent"),
        (line("host.create", host="uut", arguments={}), "'uut'"),
        (line("machine.find_switch", name="no such"), "'no such'"),
        (line("machine.ping", more=1), "unknown field `more`"),
        (b"nonsense\n", "JSON is malformed"),
        (b"[]\n", "Expected `object`, got `array`"),
    ],
)
def test_what_cannot_be_answered_is_refused(asked: bytes, said: str) -> None:
    (answer,) = answers(asked)
    assert said in answer["error"]["message"]


def test_that_a_platform_is_unusable_comes_through_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    (answer,) = answers(line("machine.prepare", kind="lxc", keys={}, packages=None))
    error = decode_error(answer["error"]["message"], Raw(json.dumps(answer["error"]["data"]).encode()))
    assert isinstance(error, PlatformUnusable)
    assert error.fix


def test_files_of_the_users_own_are_those_of_that_machine(tmp_path: Path) -> None:
    runc = tmp_path / "runc"
    runc.touch(0o755)
    asked: dict[str, Any] = {"kind": "container", "keys": {"binary": str(runc)}, "key": "binary"}
    (answer,) = answers(line("machine.find_file", **asked))
    assert answer["result"] == {"path": str(runc), "sha256": hashlib.sha256(b"").hexdigest()}
    runc.unlink()
    (answer,) = answers(line("machine.find_file", **asked))
    error = decode_error(answer["error"]["message"], Raw(json.dumps(answer["error"]["data"]).encode()))
    assert isinstance(error, InputError)
    assert str(error) == f"{runc} cannot be opened: No such file or directory; name a file that is there"


def test_a_line_that_is_cut_short_ends_it() -> None:
    assert answers(line("machine.ping")[:-1]) == []


@pytest.mark.slow
@pytest.mark.fuzz
@given(
    st.lists(
        st.binary(max_size=200).map(lambda line: line.replace(b"\n", b"") + b"\n")
        | st.builds(
            line, st.sampled_from(["machine.ping", "machine.environment", "host.counters", "host.close", "x"])
        )
        | st.recursive(
            st.none() | st.integers() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        ).map(lambda value: json.dumps(value).encode() + b"\n"),
        max_size=8,
    )
)
def test_every_line_gets_one_answer(lines: list[bytes]) -> None:
    told = answers(*lines)
    assert len(told) == len(lines)
    assert all(("result" in answer) != ("error" in answer) for answer in told)


def test_a_remote_host_asks_for_every_method_of_a_host() -> None:
    asked: list[tuple[str, dict[str, Any]]] = []

    class Machine:
        name = "far"
        cpus: ClassVar[dict[str, list[int]]] = {}

        def reach(self) -> None:
            """It answers."""

        def ask(self, method: str, params: Raw, limit_s: float) -> Raw:
            asked.append((method, json.loads(bytes(memoryview(params)))))
            return Raw(b"null")

    host = RemoteHost("uut", Machine(), far=False)  # type: ignore[arg-type]
    host.stop_guest("guest")
    host.bridge_netfilter()
    assert asked == [
        ("host.stop_guest", {"host": "uut", "arguments": {"name": "guest"}}),
        ("host.bridge_netfilter", {"host": "uut", "arguments": {}}),
    ]
    asked.clear()
    host.create(bridge_netfilter=True)
    assert asked == [
        ("machine.new_host", {"host": "uut", "far": False}),
        ("host.create", {"host": "uut", "arguments": {"bridge_netfilter": True}}),
    ]
    own = {name for name in ACTS if getattr(RemoteHost, name) is getattr(Host, name)}
    assert own == set(), "none is carried out here"


class Answering:
    """A machine whose agents answer so, and which keeps what is asked."""

    name = "far"
    cpus: ClassVar[dict[str, list[int]]] = {}

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.asked: list[tuple[str, dict[str, Any], float]] = []

    def ask(self, method: str, params: Raw, limit_s: float) -> Raw:
        self.asked.append((method, json.loads(bytes(memoryview(params))), limit_s))
        return Raw(b'"ticket"' if method == "machine.begin_call" else self.answer)


def test_an_agent_of_another_machine_is_asked_with_types() -> None:
    machine = Answering(b'{"ceilings": [{"mechanism": "raw", "ceiling_fps": 2e6}], "refused": []}')
    host = RemoteHost("source", machine, far=False)  # type: ignore[arg-type]
    params = SourceCalibrateParams(frame_bytes=64, load="paced")
    waiting = host.api("source").begin_source_calibrate(params)
    question = {"host": "source", "agent": "source", "method": "source.calibrate"}
    asked = {**question, "params": {"frame_bytes": 64, "load": "paced"}}
    assert machine.asked[0] == ("machine.begin_call", asked, 120.0)
    assert waiting(300.0).ceilings[0].ceiling_fps == 2e6
    assert machine.asked[1] == ("machine.finish_call", {"ticket": "ticket", "timeout_s": 300.0}, 310.0)
    with pytest.raises(AgentBreach, match=r"^source: answered drops.read with .*`ceilings`"):
        host.api("source").drops_read()
    with pytest.raises(AgentError, match=r"^source: cpu.open: hz: Expected `int` >= 1$"):
        host.api("source").cpu_open(CpuOpenParams(hz=0))
    assert len(machine.asked) == 3
