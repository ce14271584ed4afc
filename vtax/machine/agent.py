"""The controller's end of an agent's byte stream: JSON-RPC 2.0, one message a line.

An agent is reached by the pipes of the process it runs in or behind (the agent itself, a container runtime, an
emulator); it opens no port anywhere.
"""

import contextlib
import itertools
import json
import os
import queue
import subprocess
import threading
from pathlib import Path
from typing import IO, Any

from vtax.machine.remedy import build_agent
from vtax.machine.window import Window

PROTOCOL = 1
LINE_LIMIT_BYTES = 65_536
"""Longest line either side may send, its newline included."""
CALL_TIMEOUT_S = 10.0
END_PATIENCE_S = 1.0
"""How long the end of a broken stream is waited for."""
PIECE_BYTES = 1024
"""What is sent at a time on a line with a window."""


class AgentError(Exception):
    """The agent answered with an error: what it was asked, and what it says is wrong."""

    def __init__(self, message: str, problem: str = "", data: Any = None) -> None:
        super().__init__(message)
        self.problem, self.data = problem or message, data
        """What it says, and what it adds to that."""


class AgentGone(Exception):  # noqa: N818 - it says what happened, as ProcessLookupError does
    """The agent's stream ended, broke the protocol, or stayed silent beyond the time allowed."""


class _Ended(Exception):  # noqa: N818
    """Why nothing more is read."""


class _Breach(_Ended):
    """What was sent against the protocol."""


def agent_binary() -> Path:
    """The static agent: beside the package when installed, else as cargo builds it.

    Raises FileNotFoundError that says how to build it.
    """
    override = os.environ.get("VTAX_AGENT")
    package = Path(__file__).resolve().parent.parent
    built = package.parent / "agent/target/x86_64-unknown-linux-gnu/release/vtax-agent"
    for path in (Path(override) if override else None, package / "bin/vtax-agent", built):
        if path is not None and path.is_file():
            return path
    raise FileNotFoundError(f"the agent is not built; {build_agent()}")


Replies = queue.SimpleQueue[dict[str, Any] | None]
"""Where a thread waits for a message; None when none will come any more."""


class Agent:
    """One agent behind a process's stdin and stdout. Calls may come from any thread."""

    def __init__(
        self,
        name: str,
        process: "subprocess.Popen[bytes]",
        window_bytes: int | None = None,
        line_limit_bytes: int = LINE_LIMIT_BYTES,
    ) -> None:
        """With `window_bytes`, the agent is at a terminal and may have only as much to read at a time."""
        self._line_limit_bytes = line_limit_bytes
        self.name = name
        self.process = process
        self._window = Window(window_bytes) if window_bytes is not None else None
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Replies] = {}
        self._hello: Replies = queue.SimpleQueue()
        self._greeted = False
        self._lock = threading.Lock()
        self._ended: str | None = None
        self.death: str | None = None
        """Why the agent failed while its guest may live on, in words that follow "the agent"."""
        self._reader = threading.Thread(target=self._read, name=f"agent {name}", daemon=True)
        self._reader.start()

    def wait_hello(self, timeout_s: float) -> dict[str, Any]:
        """The agent's first message: protocol, version, kernel, cpus, uptime_s."""
        try:
            hello = self._hello.get(timeout=timeout_s)
        except queue.Empty:
            raise AgentGone(f"{self.name}: no hello within {timeout_s:g} s") from None
        if hello is None:
            raise AgentGone(f"{self.name}: {self._ended} before it said hello")
        if hello.get("protocol") != PROTOCOL:
            spoken = _shown(hello.get("protocol"))
            raise AgentGone(
                f"{self.name}: speaks protocol {spoken}, not {PROTOCOL}; rebuild with `make build`"
            )
        return hello

    def call(
        self, method: str, params: dict[str, Any] | None = None, timeout_s: float = CALL_TIMEOUT_S
    ) -> Any:
        """Ask and wait for the answer. Raises AgentError for an error reply, AgentGone for none."""
        return self.begin(method, params)(timeout_s)

    def begin(self, method: str, params: dict[str, Any] | None = None) -> "PendingReply":
        """Ask and return at once; call what is returned to wait for the answer."""
        number = next(self._numbers)
        reply: Replies = queue.SimpleQueue()
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}
        with self._lock:
            if self._ended:
                raise AgentGone(f"{self.name}: {self._ended} before it was asked to {method}")
            self._waiting[number] = reply
            try:
                assert self.process.stdin is not None  # noqa: S101 - opened as a pipe by whoever started it
                self._send(self.process.stdin, json.dumps(request, separators=(",", ":")).encode() + b"\n")
                return PendingReply(self, method, reply)
            except (BrokenPipeError, ValueError, OSError):
                pass
        self._reader.join(END_PATIENCE_S)  # it may have the agent's last words still to read
        raise AgentGone(f"{self.name}: gone when it was asked to {method}")

    @property
    def gone(self) -> bool:
        """Whether nothing more will be read: the stream has ended, or what came was against the protocol."""
        return self._ended is not None

    def close(self, timeout_s: float = 2.0) -> None:
        """End the stream, which ends the agent; one that does not go is killed."""
        with contextlib.suppress(OSError):
            if self.process.stdin is not None:
                self.process.stdin.close()
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _send(self, stream: IO[bytes], line: bytes) -> None:
        size = PIECE_BYTES if self._window is not None else len(line)
        for at in range(0, len(line), size):
            piece = line[at : at + size]
            if self._window is not None:
                self._window.take(len(piece), CALL_TIMEOUT_S)
            stream.write(piece)
            stream.flush()

    def _read(self) -> None:
        assert self.process.stdout is not None  # noqa: S101 - opened as a pipe by whoever started it
        try:
            while True:
                self._take(self.process.stdout.readline(self._line_limit_bytes))
        except (_Ended, OSError) as error:
            ended = str(error)
            if isinstance(error, _Breach):
                self.death = f"broke the protocol: it {ended}"
        if self._window is not None:
            self._window.close()
        with self._lock:
            self._ended = ended
            abandoned, self._waiting = self._waiting, {}
        for waiting in (self._hello, *abandoned.values()):
            waiting.put(None)

    def _take(self, line: bytes) -> None:
        """Hand a message to who waits for it: a hello once, and one answer to each call."""
        if line == b"\n":  # ends what an agent that died within a line has left
            return
        match message := _parsed(line, self._line_limit_bytes):
            case {"method": "hello", "params": dict(params)} if not self._greeted:
                self._greeted = True
                self._hello.put(params)
            case {"id": int(number), "error": {"message": str()}} | {"id": int(number), "result": _} if (
                waiting := self._waiting.pop(number, None)
            ):
                waiting.put(message)
            case {"method": "read", "params": {"bytes": int(size_bytes)}} if self._window is not None:
                self._window.give(size_bytes)
            case {"method": "died", "params": {"reason": str(reason)}}:
                self.death = reason
            case {"id": None, "error": {"message": str(problem)}}:
                raise _Breach(f"could not read what it was sent ({_shown(problem)})")
            case _:
                raise _Breach(f"sent what is neither hello nor an answer ({_shown(line)})")


def _parsed(line: bytes, limit_bytes: int) -> Any:
    """The JSON of a line; raises _Ended for anything else."""
    if not line.endswith(b"\n"):
        if len(line) == limit_bytes:
            raise _Breach(f"sent a line longer than {limit_bytes} bytes ({_shown(line)})")
        raise _Ended(f"its stream ended within a line ({_shown(line)})" if line else "its stream ended")
    try:
        return json.loads(line)
    except (ValueError, RecursionError):  # the latter for deep nesting
        raise _Breach(f"sent what is no JSON ({_shown(line)})") from None


def _shown(sent: object) -> str:
    text = repr(sent)
    return text if len(text) <= 80 else f"{text[:77]}..."


class PendingReply:
    """An answer that is still to come."""

    def __init__(self, agent: Agent, method: str, reply: Replies) -> None:
        self._agent, self._method, self._reply = agent, method, reply

    def __call__(self, timeout_s: float = CALL_TIMEOUT_S) -> Any:
        """Wait for the answer."""
        try:
            message = self._reply.get(timeout=timeout_s)
        except queue.Empty:
            raise AgentGone(
                f"{self._agent.name}: no answer to {self._method} within {timeout_s:g} s"
            ) from None
        if message is None:
            raise AgentGone(f"{self._agent.name}: {self._agent._ended} during {self._method}")
        match message:
            case {"error": {"message": str(problem)} as error}:
                raise AgentError(f"{self._agent.name}: {self._method}: {problem}", problem, error.get("data"))
        return message["result"]


def start_agent(name: str, *, netns: Path, cpus: list[int], log: Path) -> Agent:
    """Start an agent process in a network namespace, pinned to `cpus`; what it says to humans goes to `log`."""
    command = [str(agent_binary()), "--netns", str(netns), "--cpus", ",".join(map(str, cpus))]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, process_group=0
        )
    return Agent(name, process)
