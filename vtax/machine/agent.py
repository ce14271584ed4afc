"""The controller's end of an agent's byte stream: JSON-RPC 2.0, one message a line.

An agent is reached by the pipes of the process it runs in or behind (the agent itself, a container runtime, an
emulator); it opens no port anywhere.
"""

import contextlib
import itertools
import os
import queue
import re
import select
import subprocess
import threading
import time
from pathlib import Path
from typing import IO, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

from vtax.agent_api import LONGEST_LINE_BYTES, PROTOCOL, AgentApi, Died, Hello, Read
from vtax.agent_message import CALL_TIMEOUT_S, Answer, Message
from vtax.inputs import one_line
from vtax.machine.fix import build_agent
from vtax.machine.plausible import contradiction, overlong
from vtax.machine.window import Window

LONGEST_PROBLEM = 160
"""How many characters of what is wrong with an answer are shown."""
HELLO_TIMEOUT_S = 20.0
"""How long an agent that was started here may take to say hello."""
END_PATIENCE_S = 1.0
"""How long the end of a broken stream is waited for."""
PIECE_BYTES = 1024
"""What is sent at a time on a line with a window."""
NEVER_BLOCKS_BYTES = select.PIPE_BUF
"""A pipe that has room takes as much at once."""
UNTRUE = "cannot be true"
"""What a breach says of an answer that matches its type."""
NO_DATA = Raw()


class AgentError(Exception):
    """The agent answered with an error: what it was asked, and what it says is wrong."""

    def __init__(self, message: str, problem: str = "", data: Raw = NO_DATA) -> None:
        super().__init__(message)
        self.problem, self.data = problem or message, data
        """What it says, and the JSON that it adds to that, empty where it adds nothing."""


class AgentGone(Exception):  # noqa: N818 - it says what happened, as ProcessLookupError does
    """The agent's stream ended, broke the protocol, or stayed silent beyond the time allowed."""


class AgentBreach(AgentGone):
    """The agent answered a call with something else than the contract allows: the guest, the method and the field."""

    def __init__(
        self, agent: str, said: str, problem: Exception | str, what: str = "is not of its type"
    ) -> None:
        shown = one_line(str(problem))
        shown = shown if len(shown) <= LONGEST_PROBLEM else f"{shown[: LONGEST_PROBLEM - 3]}..."
        self.problem = f"what {what} ({shown})"
        super().__init__(f"{agent}: {said} with {self.problem}")


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


class _Problem(Struct):
    message: str
    data: Raw = NO_DATA


class _Request(Struct):
    id: int
    method: str
    params: Raw
    jsonrpc: str = "2.0"


class _Line(Struct):
    """A message, of whatever kind; what it carries is decoded by whoever waits for it."""

    id: int | None = None
    method: str | None = None
    params: Raw = Raw()
    result: Raw = Raw()
    error: _Problem | None = None


class _Spoken(Struct):
    protocol: Raw = Raw(b"null")


Replies = queue.SimpleQueue[_Line | None]
"""Where a thread waits for a message; None when none will come any more."""
Greeting = TypeVar("Greeting", bound=Struct)


class Agent:
    """One agent behind a process's stdin and stdout. Calls may come from any thread."""

    def __init__(
        self,
        name: str,
        process: "subprocess.Popen[bytes]",
        window_bytes: int | None = None,
        line_limit_bytes: int = LONGEST_LINE_BYTES,
    ) -> None:
        """With `window_bytes`, the agent is at a terminal and may have only as much to read at a time."""
        self._line_limit_bytes = line_limit_bytes
        self.name = name
        self.process = process
        self._window = Window(window_bytes) if window_bytes is not None else None
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Replies] = {}
        self._hello: Replies = queue.SimpleQueue()
        self._greeted = self._had_blank = False
        self._lock = threading.Lock()
        self._ended: str | None = None
        self.death: str | None = None
        """Why the agent failed while its guest may live on, in words that follow "the agent"."""
        self._reader = threading.Thread(target=self._read, name=f"agent {name}", daemon=True)
        self._reader.start()

    @property
    def api(self) -> AgentApi:
        """Each of the agent's methods, with types. They raise AgentError, AgentGone, and AgentBreach of the latter."""
        return AgentApi(_TypedCalls(self))

    def wait_hello(self, timeout_s: float) -> Hello:
        """Wait for the agent's first message."""
        return self.wait_greeting(timeout_s, Hello)

    def wait_greeting(self, timeout_s: float, kind: type[Greeting]) -> Greeting:
        """Wait for the first message of whoever is at the other end."""
        try:
            hello = self._hello.get(timeout=timeout_s)
        except queue.Empty:
            raise AgentGone(f"{self.name}: no hello within {timeout_s:g} s") from None
        if hello is None:
            raise AgentGone(f"{self.name}: {self._ended} before it said hello")
        try:
            spoken = msgspec.json.decode(msgspec.json.decode(hello.params, type=_Spoken).protocol)
            if spoken != PROTOCOL:
                raise AgentGone(
                    f"{self.name}: speaks protocol {_shown(spoken)}, not {PROTOCOL}; rebuild with `make build`"
                )
            return msgspec.json.decode(hello.params, type=kind)
        except UNREADABLE as error:
            raise AgentBreach(self.name, "said hello", error) from None

    def begin(self, method: str, params: Raw) -> "PendingReply":
        """Ask with params that are JSON already, and return at once what waits for the answer."""
        number = next(self._numbers)
        reply: Replies = queue.SimpleQueue()
        request = msgspec.json.encode(_Request(number, method, params)) + b"\n"
        with self._lock:
            if self._ended:
                raise AgentGone(f"{self.name}: {self._ended} before it was asked to {method}")
            self._waiting[number] = reply
            pending = PendingReply(self, method, reply)
            try:
                assert self.process.stdin is not None  # noqa: S101 - opened as a pipe by whoever started it
                self._send(self.process.stdin, request)
                return pending
            except TimeoutError:
                # Half a line may be under way: nothing that is sent after it can be read.
                self.death = self._ended = f"read nothing of a request for {CALL_TIMEOUT_S:g} s"
                del self._waiting[number]
                raise AgentGone(f"{self.name}: {self._ended} when it was asked to {method}") from None
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
        """Raises TimeoutError where the agent reads nothing for too long, and OSError where nobody can read."""
        size = PIECE_BYTES if self._window is not None else NEVER_BLOCKS_BYTES
        room = select.poll()
        room.register(stream, select.POLLOUT)
        for at in range(0, len(line), size):
            piece = line[at : at + size]
            if self._window is not None:
                self._window.take(len(piece), CALL_TIMEOUT_S)
            if not room.poll(1000 * CALL_TIMEOUT_S):
                raise TimeoutError
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
            self._ended = self._ended or ended
            abandoned, self._waiting = self._waiting, {}
        for waiting in (self._hello, *abandoned.values()):
            waiting.put(None)

    def _take(self, line: bytes) -> None:
        """Hand a message to who waits for it: a hello once, and one answer to each call."""
        if line == b"\n":  # ends what an agent that died within a line has left, once
            if self._had_blank:
                raise _Breach("sent blank lines")
            self._had_blank = True
            return
        message = _parsed(line, self._line_limit_bytes)
        if message.method is not None:
            self._take_notice(message, line)
            return
        if message.error is not None and message.id is None:
            raise _Breach(f"could not read what it was sent ({_shown(message.error.message)})")
        is_answer = message.error is not None or memoryview(message.result).nbytes
        waiting = self._waiting.pop(message.id, None) if is_answer and message.id is not None else None
        if waiting is None:
            raise _Breach(NEITHER.format(_shown(line)))
        waiting.put(message)

    def _take_notice(self, message: _Line, line: bytes) -> None:
        """Take what nobody asked for."""
        try:
            if message.method == "hello" and _is_object(message.params) and not self._greeted:
                self._greeted = True
                self._hello.put(message)
            elif message.method == "read" and self._window is not None:
                if not self._window.give(msgspec.json.decode(message.params, type=Read).bytes):
                    raise _Breach(f"says it read what it was not sent ({_shown(line)})")
            elif message.method == "died" and self.death is None:
                self.death = one_line(msgspec.json.decode(message.params, type=Died).reason[:LONGEST_PROBLEM])
            else:
                raise _Breach(NEITHER.format(_shown(line)))
        except UNREADABLE:
            raise _Breach(NEITHER.format(_shown(line))) from None


AT_FIELD = re.compile(r"(.*) - at `\$\.(.*)`")
"""What msgspec reports of a field."""
NEITHER = "sent what is neither hello nor an answer ({})"
UNREADABLE = (msgspec.DecodeError, RecursionError)
"""No JSON, JSON of another type, and JSON that is nested too deep."""


def _parsed(line: bytes, limit_bytes: int) -> _Line:
    """Return the message in a line; raises _Ended for anything else."""
    if not line.endswith(b"\n"):
        if len(line) == limit_bytes:
            raise _Breach(f"sent a line longer than {limit_bytes} bytes ({_shown(line)})")
        raise _Ended(f"its stream ended within a line ({_shown(line)})" if line else "its stream ended")
    try:
        return msgspec.json.decode(line, type=_Line)
    except msgspec.ValidationError:
        raise _Breach(NEITHER.format(_shown(line))) from None
    except UNREADABLE:
        raise _Breach(f"sent what is no JSON ({_shown(line)})") from None


def _is_object(text: Raw) -> bool:
    return bytes(memoryview(text)[:1]) == b"{"


def _shown(sent: object) -> str:
    text = repr(sent)
    return text if len(text) <= 80 else f"{text[:77]}..."


class PendingReply:
    """An answer that is still to come."""

    def __init__(self, agent: Agent, method: str, reply: Replies) -> None:
        """Begin the call, which is why it is made before the question is sent."""
        self._agent, self.method, self._reply = agent, method, reply
        self._asked_at = time.monotonic()

    def wait(self, timeout_s: float) -> Raw:
        """Wait for the answer, not yet decoded. Raises AgentError for an error reply, AgentGone for none."""
        try:
            message = self._reply.get(timeout=timeout_s)
        except queue.Empty:
            raise AgentGone(
                f"{self._agent.name}: no answer to {self.method} within {timeout_s:g} s"
            ) from None
        if message is None:
            raise AgentGone(f"{self._agent.name}: {self._agent._ended} during {self.method}")
        if message.error is not None:
            problem = message.error.message
            words = f"{self._agent.name}: {self.method}: {problem}"
            raise AgentError(words, problem, message.error.data)
        return message.result

    def typed(self, answer: type[Answer], timeout_s: float) -> Answer:
        """Wait for the answer, which has to be of that type; raises AgentBreach."""
        read = read_answer(self._agent.name, self.method, self.wait(timeout_s), answer)
        if (problem := overlong(read, time.monotonic() - self._asked_at)) is not None:
            raise AgentBreach(self._agent.name, f"answered {self.method}", problem, UNTRUE)
        return read


class TypedReply(Generic[Answer]):
    """An answer of a known type that is still to come."""

    def __init__(self, reply: PendingReply, answer: type[Answer]) -> None:
        self._reply, self._answer = reply, answer

    def __call__(self, timeout_s: float = CALL_TIMEOUT_S) -> Answer:
        """Wait for the answer."""
        return self._reply.typed(self._answer, timeout_s)


class _TypedCalls:
    """The way of AgentApi to an agent that is reached from here; see vtax.agent_message.Caller."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    @property
    def agent(self) -> str:
        return self._agent.name

    def call(self, method: str, params: Message, answer: type[Answer], timeout_s: float) -> Answer:
        return self.begin(method, params, answer)(timeout_s)

    def begin(self, method: str, params: Message, answer: type[Answer]) -> TypedReply[Answer]:
        return TypedReply(self._agent.begin(method, checked(self._agent.name, method, params)), answer)


def read_answer(agent: str, method: str, result: Raw, answer: type[Answer]) -> Answer:
    """Return what an agent answered as that type.

    Raises AgentBreach for anything else, and for numbers that contradict each other.
    """
    try:
        read = msgspec.json.decode(result, type=answer)
    except UNREADABLE as error:
        raise AgentBreach(agent, f"answered {method}", error) from None
    if (problem := contradiction(read)) is not None:
        raise AgentBreach(agent, f"answered {method}", problem, UNTRUE)
    return read


def checked(agent: str, method: str, params: Message) -> Raw:
    """Return the params as JSON; raises AgentError where one is beyond its bound, as the agent would."""
    text = msgspec.json.encode(params)
    try:
        msgspec.json.decode(text, type=type(params))
    except msgspec.ValidationError as error:
        problem = AT_FIELD.sub(r"\2: \1", str(error))  # as the agent puts it
        raise AgentError(f"{agent}: {method}: {problem}", problem) from None
    return Raw(text)


def start_agent(name: str, *, netns: Path, cpus: list[int], log: Path) -> Agent:
    """Start an agent process in a network namespace, pinned to `cpus`; what it says to humans goes to `log`."""
    command = [str(agent_binary()), "--netns", str(netns), "--cpus", ",".join(map(str, cpus))]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, process_group=0
        )
    return Agent(name, process)
