"""The near end of a machine's stream: a Machine and its hosts, as if they were here."""

import contextlib
import functools
import shlex
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import msgspec
from msgspec import Raw

import vtax
from vtax.agent_api import AgentApi
from vtax.agent_message import CALL_TIMEOUT_S, Answer, Message, Pending
from vtax.inputs import InputError, one_line
from vtax.inputs.own_file import FoundFile
from vtax.machine.agent import Agent, AgentBreach, AgentError, AgentGone, checked, read_answer
from vtax.machine.clock import clock_identity
from vtax.machine.emulation import SLOWNESS
from vtax.machine.environment import HostEnvironment
from vtax.platforms import PlatformConfig, Probe, keys_of
from vtax.testbed.clocks import Clock, ClockAhead, exchange
from vtax.testbed.guest_state import GuestState
from vtax.testbed.host import Borrowed, Host
from vtax.testbed.link import EndPlace
from vtax.testbed.machines import End, far_cpus
from vtax.testbed.remote.acts import Act, Asked, HostQuestion, act_of
from vtax.testbed.remote.errors import decode_error
from vtax.testbed.remote.server import ACTS, LINE_LIMIT_BYTES, EndOf, MachineActs, MachineHello

HELLO_LIMIT_S = 60.0
"""Python starts, and what killed runs have left is removed first."""
ANSWER_LIMIT_S = 120.0
"""For whatever has no limit of its own: guests of an emulated CPU take a minute to start."""
PREPARE_LIMIT_S = 600.0
"""For platforms, whose images and packages may have to be fetched first."""
MARGIN_S = 10.0
END_LIMIT_S = 15.0
"""How long a machine may take to remove what was made there."""
BEAT_S = 10.0

P = ParamSpec("P")
T = TypeVar("T")


class RemoteMachine:
    """A machine at the far end of a command's stdin and stdout; see vtax.testbed.machines.Machine."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        cpus: dict[str, list[int]] | None = None,
        trial: str = "",
        control: str | None = None,
    ) -> None:
        """`command` leads to `vtax host --stdio`; what it complains of goes to `log`. `cpus` None: it chooses.

        `trial` is what a user may try by hand where it is not reached. `control` is the interface that it may be
        reached by, any where None.
        """
        self.name, self._command, self._log, self._trial = name, list(command), log, trial
        self._wanted_cpus, self._wanted_control = cpus, control
        self.cpus: dict[str, list[int]] = {}
        self.control: str | None = None
        """The interface that it is reached by; None where that is not known."""
        self.clock_identity = ""
        """See vtax.machine.clock."""
        self.is_emulated = False
        """See Machine."""
        self._columns: dict[str, str | None] = {}
        self._agent: Agent | None = None
        self._beat: threading.Timer | None = None

    def reach(self) -> None:
        """Have it answer, if it does not already; raises InputError with what it or ssh says."""
        if self._agent is not None and not self._agent.gone:
            return
        self.leave()
        with self._log.open("ab") as errors:
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                process_group=0,
            )
        agent = Agent(self.name, process, line_limit_bytes=LINE_LIMIT_BYTES)
        try:
            hello = agent.wait_greeting(HELLO_LIMIT_S * self._slowness, MachineHello)
        except AgentGone as error:
            agent.close(END_LIMIT_S)
            raise InputError(self._refusal(str(error))) from None
        if hello.version != vtax.__version__:
            agent.close(END_LIMIT_S)
            raise InputError(
                f"{self.name} has vtax {hello.version}, and this is {vtax.__version__}; install the same on both"
            )
        self._agent, self.clock_identity = agent, hello.clock
        self.control = asking(self, MachineActs.control_interface)()
        if self._wanted_control not in (None, self.control):
            self.leave()
            found = self.control or "an interface that is not known"
            raise InputError(
                f"{self.name}: ssh comes in by {found}, and its control network is at {self._wanted_control}; "
                f"give as ssh the address that {self._wanted_control} has"
            )
        self.cpus = asking(self, MachineActs.lay_out)(self._wanted_cpus)
        self.environment_columns()
        self._beat_again()

    def leave(self) -> None:
        """End the stream, and wait until the machine has removed what was made there."""
        if self._beat is not None:
            self._beat.cancel()
        if self._agent is not None:
            self._agent.close(END_LIMIT_S)
            self._agent = None

    def ask(self, method: str, params: Raw, limit_s: float) -> Raw:
        """Ask and wait; raises what was raised there, and AgentGone where nobody answers."""
        if self._agent is None:
            raise AgentGone(f"{self.name}: not reached")
        try:
            return self._agent.begin(method, params).wait(limit_s * self._slowness)
        except AgentError as error:
            raise decode_error(error.problem, error.data) from None

    def exchange_clocks(self) -> ClockAhead:
        """How far its clock is ahead of this one's by now."""
        return exchange(asking(self, MachineActs.ping))

    def read_clock(self, ahead: ClockAhead) -> Clock:
        """What else is known of its clock, beside an exchange of just now."""
        told = asking(self, MachineActs.read_time_of_day)()
        return Clock(ahead, told.ahead_ns, told.error_ns)

    def environment(self) -> HostEnvironment:
        """See Machine."""
        return asking(self, MachineActs.environment)()

    def environment_columns(self) -> dict[str, str | None]:
        """See Machine. One that is gone is as it was told last."""
        with contextlib.suppress(AgentGone):
            self._columns = asking(self, MachineActs.environment_columns)()
        return self._columns

    def find_file(self, kind: str, config: PlatformConfig, key: str) -> FoundFile:
        """See Machine."""
        return asking(self, MachineActs.find_file)(kind, keys_of(config), key)

    def prepare(self, kind: str, config: PlatformConfig, packages: Sequence[str] | None) -> Probe:
        """See Machine."""
        return asking(self, MachineActs.prepare, PREPARE_LIMIT_S)(kind, keys_of(config), packages)

    def check_protocols(self, kind: str, config: PlatformConfig, protocols: Sequence[str]) -> None:
        """See Machine."""
        asking(self, MachineActs.check_protocols)(kind, keys_of(config), protocols)

    def require_protocols(self, protocols: Sequence[str]) -> None:
        """See Machine."""
        asking(self, MachineActs.require_protocols)(protocols)

    def find_switch(self, name: str) -> dict[str, str]:
        """See Machine."""
        return asking(self, MachineActs.find_switch)(name)

    def host(self, name: str, *, far: bool) -> "RemoteHost":
        """A host of this machine, not yet made."""
        return RemoteHost(name, self, far=far)

    def join(self, one: End, other: End, mtu: int) -> None:
        """Make a link of two ends that hosts of this machine have."""
        near, far = (EndOf(end.host.name, end.interface, end.mac) for end in (one, other))
        asking(self, MachineActs.join)(near, far, mtu)

    @property
    def _slowness(self) -> int:
        """How many times as long as others it may take."""
        return SLOWNESS if self.is_emulated else 1

    def _beat_again(self) -> None:
        """Say from time to time that somebody is here."""
        agent = self._agent

        def beat() -> None:
            with contextlib.suppress(AgentGone, AgentError):
                if agent is not None and agent is self._agent:
                    asking(self, MachineActs.ping)()
                    self._beat_again()

        self._beat = threading.Timer(BEAT_S, beat)
        self._beat.daemon = True
        self._beat.start()

    def _refusal(self, error: str) -> str:
        """Why it cannot be reached, in a sentence that says what to do."""
        lines = [line.strip() for line in self._log.read_text(errors="replace").splitlines() if line.strip()]
        said = one_line(lines[-1]) if lines else error
        return f"{self.name} cannot be reached: {said}; try: {self._trial or shlex.join(self._command)}"


class RemoteHost(Host):
    """A host of another machine: each method asks for the method of the same name there."""

    def __init__(self, name: str, machine: RemoteMachine, *, far: bool) -> None:
        self.name, self.machine, self._far = name, machine, far
        self.cpus = far_cpus(machine.cpus) if far else machine.cpus
        self.borrowed: set[str] = set()
        """Interfaces of its machine that are links' ends of it."""
        self._made = False

    def create(self, bridge_netfilter: bool = False) -> None:
        """See Host. The machine is reached again where its stream has ended since; raises InputError."""
        self.machine.reach()
        asking(self.machine, MachineActs.new_host)(self.name, self._far)
        self._made = True
        _asked(Host.create)(self, bridge_netfilter)

    def borrow(self, interface: str, end: EndPlace, mtu: int) -> Borrowed:
        """See Host."""
        was = _asked(Host.borrow)(self, interface, end, mtu)
        self.borrowed.add(interface)
        return was

    def close(self) -> None:
        """See Host. A machine that is gone gives back by itself what it borrowed; not all hosts of a path are made."""
        self.borrowed.clear()
        if self._made:
            _asked(Host.close)(self)

    @property
    def api(self) -> Callable[[str], AgentApi]:
        """See Host. Params and answers pass the machine as the JSON they are."""
        return lambda agent: AgentApi(_FarCalls(self.machine, self.name, agent))

    @property
    def agents(self) -> Mapping[str, Agent]:
        """None is reached from here."""
        return {}

    @property
    def shares_clock(self) -> bool:
        """See Host."""
        return self.machine.clock_identity == clock_identity()

    def is_beside(self, other: Host) -> bool:
        """See Host."""
        return isinstance(other, RemoteHost) and other.machine is self.machine

    def guest_state(self, name: str) -> GuestState:
        """See Host. Guests of a machine that does not answer are taken for ended."""
        try:
            return _asked(Host.guest_state)(self, name)
        except AgentGone as gone:
            return GuestState(condition="ended", last_words=str(gone))

    def last_words(self, name: str) -> str:
        """See Host; of a machine that does not answer, that."""
        try:
            return _asked(Host.last_words)(self, name)
        except AgentGone as gone:
            return str(gone)


class _FarCalls:
    """The way of AgentApi to an agent of another machine; see vtax.agent_message.Caller."""

    def __init__(self, machine: Asked, host: str, agent: str) -> None:
        self._machine, self._host, self._agent = machine, host, agent

    @property
    def agent(self) -> str:
        return self._agent

    def call(self, method: str, params: Message, answer: type[Answer], timeout_s: float) -> Answer:
        text = checked(self._agent, method, params)
        ask = asking(self._machine, MachineActs.call, _limit_s(timeout_s))
        return read_answer(self._agent, method, ask(self._host, self._agent, method, text, timeout_s), answer)

    def begin(self, method: str, params: Message, answer: type[Answer]) -> Pending[Answer]:
        text = checked(self._agent, method, params)
        ticket = asking(self._machine, MachineActs.begin_call)(self._host, self._agent, method, text)

        def finish(timeout_s: float = CALL_TIMEOUT_S) -> Answer:
            ask = asking(self._machine, MachineActs.finish_call, _limit_s(timeout_s))
            return read_answer(self._agent, method, ask(ticket, timeout_s), answer)

        return finish


def _limit_s(timeout_s: float) -> float:
    """How long a machine is waited for that itself waits for an agent."""
    return max(ANSWER_LIMIT_S, timeout_s + MARGIN_S)


def asking(
    machine: Asked, method: Callable[Concatenate[MachineActs, P], T], limit_s: float = ANSWER_LIMIT_S
) -> Callable[P, T]:
    """What asks a machine to do that."""
    act = act_of(method)

    def ask(*arguments: P.args, **named: P.kwargs) -> T:
        name = f"machine.{act.name}"
        return _read(machine, name, act, machine.ask(name, act.question(*arguments, **named), limit_s))

    return ask


def _asked(method: Callable[Concatenate[Host, P], T]) -> Callable[Concatenate["RemoteHost", P], T]:
    """The method of a remote host that asks for the method of the same name there."""
    act = act_of(method)

    @functools.wraps(method)
    def ask(self: RemoteHost, /, *arguments: P.args, **named: P.kwargs) -> T:
        name, question = f"host.{act.name}", HostQuestion(self.name, act.question(*arguments, **named))
        answer = self.machine.ask(name, Raw(msgspec.json.encode(question)), ANSWER_LIMIT_S)
        return _read(self.machine, name, act, answer)

    return ask


def _read(machine: Asked, name: str, act: Act[P, T], answer: Raw) -> T:
    try:
        return act.read(answer)
    except msgspec.DecodeError as error:
        raise AgentBreach(machine.name, f"answered {name}", error) from None


for _name in ACTS - vars(RemoteHost).keys():
    setattr(RemoteHost, _name, _asked(getattr(Host, _name)))
