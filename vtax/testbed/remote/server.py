"""The far end of a machine's stream: carries out what hosts are asked for, and ends with the stream.

JSON-RPC 2.0, one message a line. `host.ACT` is a method of one of its hosts, `machine.ACT` one of its own.
"""

import inspect
import json
import logging
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import chain
from typing import IO, Any

from msgspec import Struct, field, to_builtins

import vtax
from vtax.agent_api import PROTOCOL
from vtax.inputs import InputError
from vtax.machine.chrony import time_error_ns
from vtax.machine.clock import clock_identity, clock_offset_ns
from vtax.machine.ownership import OwnershipRecord
from vtax.platforms import load_kind
from vtax.testbed.host import Host
from vtax.testbed.link import LinkEnd, make_link
from vtax.testbed.machines import ThisMachine, far_cpus
from vtax.testbed.remote.control import control_interface
from vtax.testbed.remote.values import decode, encode, encode_error

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


class HostActs(frozenset[str]):
    """The names of what hosts can be asked for: the public methods of Host."""

    def __new__(cls) -> "HostActs":
        """Read them off the class."""
        return super().__new__(
            cls, (name for name, _ in inspect.getmembers(Host, inspect.isfunction) if name[0] != "_")
        )


ACTS = HostActs()


class Server:
    """One machine, as who asks over a stream sees it."""

    def __init__(self, record: OwnershipRecord, answers: IO[bytes]) -> None:
        self._record, self._answers = record, answers
        self._here = ThisMachine()
        self._hosts: dict[str, Host] = {}
        self._writing = threading.Lock()
        self._heard_at = time.monotonic()

    def serve(self, questions: IO[bytes]) -> None:
        """Answer until the stream ends; what was made for it is then still there."""
        self._say({"method": "hello", "params": to_builtins(MachineHello())})
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
            message = json.loads(line)
            number, method = message.get("id"), str(message["method"])
            act = self._find(method)
            outcome = {"result": encode(act(**decode(message.get("params") or {})))}
        except Exception as error:  # whatever it was, who asked is told
            log.debug("%s", line[:200], exc_info=True)
            outcome = {"error": encode_error(error)}
        self._say({"id": number, **outcome})

    def _say(self, message: dict[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"
        with self._writing:
            try:
                self._answers.write(line)
                self._answers.flush()
            except OSError:  # nobody hears it: the end of questions is near
                log.debug("an answer had nowhere to go")

    def _find(self, method: str) -> Callable[..., Any]:
        of, _, name = method.partition(".")
        if of == "machine" and not name.startswith("_") and hasattr(MachineActs, name):
            act: Callable[..., Any] = getattr(MachineActs(self._here), name)
            return act
        if method == "host.new":
            return self._new
        if method == "host.join":
            return self._join
        if of == "host" and name in ACTS:
            return lambda host, arguments: getattr(self._hosts[host], name)(**arguments)
        raise LookupError(f"no method {method}")

    def _new(self, host: str, far: bool) -> None:
        self._hosts[host] = Host(host, self._record, far_cpus(self._here.cpus) if far else self._here.cpus)

    def _join(self, one: dict[str, str], other: dict[str, str], mtu: int) -> None:
        """Make a link of two ends {"host", "interface", "mac"}."""
        near, far = (
            LinkEnd(self._hosts[end["host"]].namespace, end["interface"], end["mac"]) for end in (one, other)
        )
        make_link(near, far, mtu)


class MachineActs:
    """What a machine itself can be asked for; see vtax.testbed.machines.Machine."""

    def __init__(self, here: ThisMachine) -> None:
        self._here = here

    def ping(self) -> int:
        """CLOCK_MONOTONIC in ns: what says that somebody is there, and when."""
        return time.monotonic_ns()

    def read_time_of_day(self) -> dict[str, int | None]:
        """How far CLOCK_REALTIME is ahead of CLOCK_MONOTONIC, and how wrong it may be; {"ahead_ns", "error_ns"}."""
        return {"ahead_ns": clock_offset_ns(), "error_ns": time_error_ns()}

    def control_interface(self) -> str | None:
        """See vtax.testbed.remote.control."""
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

    def environment(self) -> dict[str, Any]:
        """See Machine."""
        return self._here.environment()

    def environment_columns(self) -> dict[str, str | None]:
        """See Machine."""
        return self._here.environment_columns()

    def prepare(self, kind: str, config: dict[str, Any], packages: list[str] | None) -> dict[str, Any]:
        """See Machine; {"accelerator", "facts"}."""
        probe = self._here.prepare(kind, load_kind(kind).Config(**config), packages)
        return {"accelerator": probe.accelerator, "facts": probe.facts}

    def check_protocols(self, kind: str, config: dict[str, Any], protocols: list[str]) -> None:
        """See Machine."""
        self._here.check_protocols(kind, load_kind(kind).Config(**config), protocols)

    def require_protocols(self, protocols: list[str]) -> None:
        """See Machine."""
        self._here.require_protocols(protocols)

    def find_switch(self, name: str) -> dict[str, Any]:
        """See Machine."""
        return self._here.find_switch(name)
