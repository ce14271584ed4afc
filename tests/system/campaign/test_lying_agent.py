"""Campaigns on this machine whose agents lie: real answers, changed on their way from the pipes to the controller."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import settings

from tests.helpers.lies import Liar
from tests.helpers.memory import at_most_kb_more
from tests.helpers.played_kinds import SCENARIOS, scenario
from tests.helpers.tolerance import tolerate
from vtax.cli import main
from vtax.machine.agent import Agent
from vtax.results import Result

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

REPETITIONS = 1
LONGEST_S = 600.0
"""How long a campaign may take: none waits for a lying agent for more than a few calls."""
MOST_MEMORY_KB = 300_000
MEASURED, REFUSED, UNUSABLE = 0, 2, 3
BUILDS = (".open", "guest.configure", "guest.set_egress_qdisc", "source.calibrate")
"""Methods that a path is built with: where one of these lies, there is no trial."""


class Lines:
    """What an agent says, with lies in it; a stream as Agent reads it."""

    def __init__(
        self, stream: IO[bytes], methods: dict[int, str], change: Callable[[str, bytes], bytes]
    ) -> None:
        self._stream, self._methods, self._change = stream, methods, change
        self._left = b""

    def readline(self, limit: int) -> bytes:
        """The next line, of at most so many bytes."""
        if not self._left:
            line = self._stream.readline(limit)
            number = json.loads(line).get("id") if line.startswith(b"{") and line.endswith(b"}\n") else None
            method = self._methods.pop(number, None) if isinstance(number, int) else None
            self._left = line if method is None else self._change(method, line)
        end = self._left.find(b"\n") + 1 or len(self._left)
        line, self._left = self._left[: min(end, limit)], self._left[min(end, limit) :]
        return line

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Requests:
    """What an agent is asked, with the method of each number kept."""

    def __init__(self, stream: IO[bytes], methods: dict[int, str]) -> None:
        self._stream, self._methods = stream, methods

    def write(self, piece: bytes) -> int:
        """Pass it on; a request begins with its number and its method."""
        if piece.startswith(b'{"id":'):
            number, _, rest = piece.removeprefix(b'{"id":').partition(b',"method":"')
            self._methods[int(number)] = rest.partition(b'"')[0].decode()
        return self._stream.write(piece)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Pipes:
    """Changes what all agents say from now on."""

    def __init__(self, seed: int, rate: float) -> None:
        self.liar, self._rate = Liar(seed), rate

    def change(self, method: str, line: bytes) -> bytes:
        """Another line, or several, in place of an answer; or that answer."""
        chance = self.liar.chance
        rate = self._rate / 10 if method.endswith(BUILDS) else self._rate
        if chance.random() >= rate:
            return line
        if chance.random() < 0.75:
            message = json.loads(line)
            if "result" not in message:
                return line
            return json.dumps({**message, "result": self.liar.lie(message["result"])}).encode() + b"\n"
        self.liar.told += 1
        return chance.choice(BREACHES)(line)


def _with_number(line: bytes, number: Any) -> bytes:
    return json.dumps({**json.loads(line), "id": number}).encode() + b"\n"


BREACHES: tuple[Callable[[bytes], bytes], ...] = (
    lambda line: line[: len(line) // 2] + b"\n",
    lambda line: line + line,
    lambda line: _with_number(line, 10**9),
    lambda line: _with_number(line, [1]),
    lambda line: b"\n" * 1_000_000,
    lambda line: b'{"method":"died","params":{"reason":"\x1b[2J"}}\n' * 10_000,
    lambda line: b'{"method":"read","params":{"bytes":1}}\n' * 10_000,
    lambda line: b'{"method":"hello","params":{}}\n' + line,
    lambda line: b'{"result":NaN}\n',
    lambda line: b"[" * 60_000 + b"\n",
    lambda line: b"\xff\xfe\n",
    lambda line: b"x" * 1_000_000 + b"\n",
    lambda line: (
        json.dumps({"id": json.loads(line)["id"], "error": {"message": "\x1b]0;lie\x07"}}).encode() + b"\n"
    ),
    lambda line: b"",
)
"""What an agent may send beside answers of another content."""


@pytest.fixture
def lying(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int, float], Pipes]]:
    """Has all agents that are started from now on lie."""
    tolerate(monkeypatch.setattr)
    begin = Agent.__init__

    def lie(seed: int, rate: float) -> Pipes:
        pipes = Pipes(seed, rate)

        def begun(
            self: Agent, name: str, process: "subprocess.Popen[bytes]", *about: Any, **named: Any
        ) -> None:
            methods: dict[int, str] = {}
            assert process.stdin is not None and process.stdout is not None
            process.stdin = Requests(process.stdin, methods)  # type: ignore[assignment]
            process.stdout = Lines(process.stdout, methods, pipes.change)  # type: ignore[assignment, arg-type]
            begin(self, name, process, *about, **named)

        monkeypatch.setattr(Agent, "__init__", begun)
        return pipes

    yield lie


def run(path: Path, out: Path, platform: str) -> int:
    """Run a campaign by the command line; returns its exit status."""
    begun = time.monotonic()
    arguments = [
        "run",
        str(path),
        "--allow",
        "programs",
        "--platform",
        platform,
        "--seed",
        "1",
        "--out",
        str(out),
    ]
    status = main(arguments)
    assert time.monotonic() - begun < LONGEST_S
    return status


def assert_whole(out: Path) -> list[str]:
    """All trials are on disk and can be shown; returns their verdicts."""
    result = Result.open(out)
    rows = result.query("SELECT trial_id, verdict, reasons FROM trials ORDER BY 1").to_pylist()
    assert [row["trial_id"] for row in rows] == [*range(1, len(rows) + 1)]
    assert all(row["verdict"] != "invalid" or row["reasons"] for row in rows)
    assert main(["show", str(out)]) == 0
    return [row["verdict"] for row in rows]


@pytest.fixture
def _little_memory() -> Iterator[None]:
    with at_most_kb_more(MOST_MEMORY_KB):
        yield


@pytest.mark.slow
@pytest.mark.fuzz
@pytest.mark.timeout(5400)
@pytest.mark.usefixtures("_little_memory")
@pytest.mark.parametrize("kind", SCENARIOS)
def test_no_agent_ends_a_campaign(
    kind: str, lying: Callable[[int, float], Pipes], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    wanted = settings.default.max_examples // 11
    told = campaigns = 0
    while told < wanted:
        directory = tmp_path / f"{campaigns}"
        directory.mkdir()
        pipes = lying(campaigns, 0.03 + 0.04 * (campaigns % 3))
        platform = "container" if campaigns % 4 == 3 else "raw"
        status = run(scenario(kind, directory, REPETITIONS), directory / "out", platform)
        printed = capfd.readouterr()
        told, campaigns = told + pipes.liar.told, campaigns + 1
        if status == REFUSED:
            assert "the local testbed cannot be built here" in printed.err
            continue
        assert status in (MEASURED, UNUSABLE), printed.err
        assert "\x1b" not in printed.out + printed.err
        assert_whole(directory / "out")
