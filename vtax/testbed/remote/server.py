"""The far end of a machine's stream: carries out what hosts are asked for, and ends with the stream.

JSON-RPC 2.0, one message a line. `host.ACT` is a method of one of its hosts, `machine.ACT` one of its own.
"""

import logging
import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import chain
from typing import IO

import msgspec
from msgspec import Raw, Struct, field

import vtax
from vtax.agent_api import PROTOCOL
from vtax.inputs import InputError
from vtax.inputs.own_file import FoundFile
from vtax.machine.agent import PendingReply
from vtax.machine.chrony import time_error_ns
from vtax.machine.clock import clock_identity, clock_offset_ns
from vtax.machine.control import control_interface
from vtax.machine.environment import HostEnvironment
from vtax.machine.ownership import OwnershipRecord
from vtax.platforms import Probe, config_of
from vtax.testbed.host import Host
from vtax.testbed.link import LinkEnd, make_link
from vtax.testbed.machines import ThisMachine, far_cpus
from vtax.testbed.remote.acts import HostQuestion, act_of, public_methods
from vtax.testbed.remote.errors import ErrorReply, encode_error

LINE_LIMIT_BYTES = 16 << 20
"""More than any answer takes: owners and surroundings of a machine with thousands of processes take a megabyte."""
SILENCE_LIMIT_S = 60.0
"""Who asks says something at least every ten seconds; after a minute without, nobody is there any more."""
AT_ONCE = 16

log = logging.getLogger(__name__)


class MachineHello(Struct, frozen=True):
    """The first message of a machine."""

    protocol: int = PROTOCOL
    version: str = vtax.__version__
    clock: str = field(default_factory=clock_identity)
    """See vtax.machine.clock."""


ACTS = public_methods(Host)
"""What hosts can be asked for."""


class _Question(Struct):
    id: int
    method: str
    params: Raw = Raw(b"{}")


class _Greeting(Struct):
    params: MachineHello
    method: str = "hello"
    jsonrpc: str = "2.0"


class _Reply(Struct):
    id: int | None
    result: Raw
    jsonrpc: str = "2.0"


class _Refusal(Struct):
    id: int | None
    error: ErrorReply
    jsonrpc: str = "2.0"


class Server:
    """One machine, as who asks over a stream sees it."""

    def __init__(self, record: OwnershipRecord, answers: IO[bytes]) -> None:
        self._record, self._answers = record, answers
        self._machine = MachineActs(record)
        self._writing = threading.Lock()
        self._heard_at = time.monotonic()

    def serve(self, questions: IO[bytes]) -> None:
        """Answer until the stream ends; what was made for it is then still there."""
        self._say(_Greeting(MachineHello()))
        workers = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="answer")
        under_way: set[Future[None]] = set()
        try:
            while (line := questions.readline(LINE_LIMIT_BYTES)).endswith(b"\n"):
                self._heard_at = time.monotonic()
                under_way = {each for each in under_way if not each.done()} | {
                    workers.submit(self._answer, line)
                }
        finally:
            workers.shutdown(wait=False)
            # What is asked of an agent ends when that does; what is being made meanwhile must not stay.
            while wait(under_way, 1.0).not_done:
                self._record.clean()

    def await_silence(self) -> None:
        """Return when nothing has been heard for too long."""
        while (left_s := self._heard_at + SILENCE_LIMIT_S - time.monotonic()) > 0:
            time.sleep(left_s)

    def _answer(self, line: bytes) -> None:
        number = None
        try:
            question = msgspec.json.decode(line, type=_Question)
            number = question.id
            self._say(_Reply(number, self._carry_out(question)))
        except Exception as error:  # whatever it was, who asked is told
            log.debug("%s", line[:200], exc_info=True)
            self._say(_Refusal(number, encode_error(error)))

    def _say(self, message: _Greeting | _Reply | _Refusal) -> None:
        line = msgspec.json.encode(message) + b"\n"
        with self._writing:
            try:
                self._answers.write(line)
                self._answers.flush()
            except OSError:  # nobody hears it: the end of questions is near
                log.debug("an answer had nowhere to go")

    def _carry_out(self, question: _Question) -> Raw:
        of, _, name = question.method.partition(".")
        if of == "machine" and name in MACHINE_ACTS:
            return act_of(getattr(MachineActs, name)).carry_out(self._machine, question.params)
        if of == "host" and name in ACTS:
            asked = msgspec.json.decode(question.params, type=HostQuestion)
            return act_of(getattr(Host, name)).carry_out(self._machine.hosts[asked.host], asked.arguments)
        raise LookupError(f"no method {question.method}")


@dataclass(frozen=True)
class TimeOfDay:
    """How far CLOCK_REALTIME is ahead of CLOCK_MONOTONIC, and how wrong it may be; None where nobody says."""

    ahead_ns: int
    error_ns: int | None


@dataclass(frozen=True)
class EndOf:
    """A link's end on a host, by the host's name."""

    host: str
    interface: str
    mac: str


class MachineActs:
    """What a machine itself can be asked for; see vtax.testbed.machines.Machine."""

    def __init__(self, record: OwnershipRecord) -> None:
        self._record = record
        self._here = ThisMachine()
        self.hosts: dict[str, Host] = {}
        self._pending: dict[str, PendingReply] = {}

    def ping(self) -> int:
        """CLOCK_MONOTONIC in ns: what says that somebody is there, and when."""
        return time.monotonic_ns()

    def new_host(self, host: str, far: bool) -> None:
        """Have a host of a name, not yet made; a `far` one as Machines.host has it."""
        self.hosts[host] = Host(host, self._record, far_cpus(self._here.cpus) if far else self._here.cpus)

    def join(self, one: EndOf, other: EndOf, mtu: int) -> None:
        """Make a link of two ends that hosts here have."""
        near, far = (LinkEnd(self.hosts[end.host].namespace, end.interface, end.mac) for end in (one, other))
        make_link(near, far, mtu)

    def call(self, host: str, agent: str, method: str, params: Raw, timeout_s: float) -> Raw:
        """Ask an agent of a host, and return its answer as it is."""
        return self.hosts[host].agents[agent].begin(method, params).wait(timeout_s)

    def begin_call(self, host: str, agent: str, method: str, params: Raw) -> str:
        """Ask an agent of a host, and return at once with a ticket for `finish_call`."""
        ticket = f"{host}/{agent}/{method}"
        self._pending[ticket] = self.hosts[host].agents[agent].begin(method, params)
        return ticket

    def finish_call(self, ticket: str, timeout_s: float) -> Raw:
        """Wait for the answer to what `begin_call` asked."""
        return self._pending.pop(ticket).wait(timeout_s)

    def read_time_of_day(self) -> TimeOfDay:
        """Compare the clocks here."""
        return TimeOfDay(clock_offset_ns(), time_error_ns())

    def control_interface(self) -> str | None:
        """See vtax.machine.control."""
        return control_interface()

    def lay_out(self, cpus: dict[str, list[int]] | None) -> dict[str, list[int]]:
        """Have CPUs serve whom they are to, or as is chosen here; returns which. Raises InputError for one not here."""
        if cpus is not None:
            absent = sorted({*chain(*cpus.values())} - os.sched_getaffinity(0))
            if absent:
                raise InputError(f"there is no CPU {', '.join(map(str, absent))} that vtax may use")
            self._here.cpus = cpus
        os.sched_setaffinity(0, self._here.cpus["controller"])
        return self._here.cpus

    def environment(self) -> HostEnvironment:
        """See Machine."""
        return self._here.environment()

    def environment_columns(self) -> dict[str, str | None]:
        """See Machine."""
        return self._here.environment_columns()

    def find_file(self, kind: str, keys: Raw, key: str) -> FoundFile:
        """See Machine."""
        return self._here.find_file(kind, config_of(kind, keys), key)

    def prepare(self, kind: str, keys: Raw, packages: Sequence[str] | None) -> Probe:
        """See Machine."""
        return self._here.prepare(kind, config_of(kind, keys), packages)

    def check_protocols(self, kind: str, keys: Raw, protocols: Sequence[str]) -> None:
        """See Machine."""
        self._here.check_protocols(kind, config_of(kind, keys), protocols)

    def require_protocols(self, protocols: Sequence[str]) -> None:
        """See Machine."""
        self._here.require_protocols(protocols)

    def find_switch(self, name: str) -> dict[str, str]:
        """See Machine."""
        return self._here.find_switch(name)


MACHINE_ACTS = public_methods(MachineActs)
