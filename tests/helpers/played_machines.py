"""Machines of a campaign that is recorded once and played again, without root: what was asked, and the answers."""

import contextlib
import io
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from vtax import campaign
from vtax.machine.clock import clock_identity
from vtax.machine.environment import HostEnvironment, host_environment
from vtax.machine.ownership import OwnershipRecord
from vtax.platforms import PlatformConfig, Probe
from vtax.testbed.clocks import ONE_CLOCK, ClockAhead
from vtax.testbed.host import Host
from vtax.testbed.machines import Agent, End, OneMachine
from vtax.testbed.remote.machine import RemoteHost, RemoteMachine
from vtax.testbed.remote.server import Server, _Question
from vtax.trial.workload import Setup, Workload

TELLING = ("first", "flow", "stream", "trail")
"""Params of agents' methods that what is answered depends on."""
PREPARE, OPEN, TRIAL = PHASES = ("prepare", "open", "trial")
CPUS = {"agents": [0], "host": [0], "guests": [1], "controller": [0]}
MOST_OTHERS = 3

Lie = Callable[[str, Any], Any]
"""Makes what an agent of the machines answers of a method, and of what it answered."""


def question(method: str, params: dict[str, Any]) -> str:
    """What tells one question from another, whatever the trial's number and the time."""
    arguments = params.get("arguments", params)
    told = {
        name: arguments[name] for name in ("agent", "method", "ticket", "cpus", "name") if name in arguments
    }
    asked = arguments.get("params")
    if isinstance(asked, dict):
        told |= {name: asked[name] for name in TELLING if name in asked}
    return " ".join([method, str(params.get("host", "")), *(f"{name}={told[name]}" for name in sorted(told))])


class _Asked(RemoteMachine):
    """A machine whose hosts ask here."""

    def __init__(self, answer: Callable[[str, Raw], Raw]) -> None:
        self.name, self.cpus, self.is_emulated, self.clock_identity = "local", CPUS, False, clock_identity()
        self._answer = answer

    def reach(self) -> None:
        """It is here."""

    def ask(self, method: str, params: Raw, limit_s: float) -> Raw:
        """See RemoteMachine."""
        return self._answer(method, params)

    def environment(self) -> HostEnvironment:
        """See Machine."""
        return host_environment()

    def environment_columns(self) -> dict[str, str | None]:
        """Nothing of it is looked at."""
        return {}

    def prepare(self, kind: str, config: PlatformConfig, packages: Sequence[str] | None) -> Probe:
        """It has the bare host."""
        return Probe("none")

    def check_protocols(self, kind: str, config: PlatformConfig, protocols: Sequence[str]) -> None:
        """It speaks all."""

    def require_protocols(self, protocols: Sequence[str]) -> None:
        """It speaks all."""


class _Machines(OneMachine):
    """One machine, whose hosts are asked as those of another one."""

    is_measuring = False
    """Whether a trial is measured now."""

    def __init__(self, answer: Callable[[str, Raw], Raw]) -> None:
        super().__init__(cpus=CPUS)
        self._asked = _Asked(answer)

    def machine(self, host: str) -> Any:
        """That machine."""
        return self._asked

    def host(self, name: str, *, far: bool = False) -> Host:
        """See Machines."""
        return RemoteHost(name, self._asked, far=far)

    def join(self, one: End, other: End, mtu: int) -> None:
        """As the machine does."""
        self._asked.join(one, other, mtu)

    def watcher(self, uut: Host, instrument: Agent) -> Agent:
        """All have one kernel."""
        return instrument

    def compare_clocks(self, pairs: Sequence[tuple[Host, Host]]) -> list[ClockAhead]:
        """All have one kernel."""
        return [ONE_CLOCK] * len(pairs)


class Recorder(_Machines):
    """This machine; what its hosts answer is written down."""

    def __init__(self) -> None:
        super().__init__(self._carry_out)
        self.said: dict[str, dict[str, list[Any]]] = {phase: defaultdict(list) for phase in PHASES}
        self._phase = PREPARE
        self._server: Server | None = None

    @contextlib.contextmanager
    def hold(self, purpose: str) -> Iterator[None]:
        """See Machines."""
        with super().hold(purpose):
            assert isinstance(self._record, OwnershipRecord)
            self._server = Server(self._record, io.BytesIO())
            yield

    def begin(self, phase: str) -> None:
        """What follows is another part of the campaign; only the first of each is kept."""
        self._phase = phase if not self.said[phase] else ""

    def write(self, path: Path) -> None:
        """A line for each question of a phase."""
        lines = [
            json.dumps([phase, asked, answers], separators=(",", ":"))
            for phase, of_phase in self.said.items()
            for asked, answers in of_phase.items()
            if any(answer is not None for answer in answers)
        ]
        path.write_text("\n".join(lines) + "\n")

    def _carry_out(self, method: str, params: Raw) -> Raw:
        assert self._server is not None
        text = self._server._carry_out(_Question(0, method, params))
        answer = json.loads(bytes(text))
        if method == "host.surroundings":
            others = [*answer["others"].items()][:MOST_OTHERS]
            answer["others"] = {key: {**process, "name": "other"} for key, process in others}
        if self._phase:
            self.said[self._phase][question(method, json.loads(bytes(params)))].append(answer)
        return _raw(answer)


class Player(_Machines):
    """Machines that answer what was written down, and lie where a test wants it."""

    def __init__(self, path: Path, lie: Lie = lambda method, answer: answer) -> None:
        super().__init__(self._play)
        self.lie = lie
        self._said: dict[str, dict[str, list[Any]]] = {phase: {} for phase in PHASES}
        for line in path.read_text().splitlines():
            phase, asked, answers = json.loads(line)
            self._said[phase][asked] = answers
        self.phase, self._at = PREPARE, defaultdict[str, int](int)

    @contextlib.contextmanager
    def hold(self, purpose: str) -> Iterator[None]:
        """Nothing is made."""
        yield

    def begin(self, phase: str) -> None:
        """What follows is answered from the beginning of a phase."""
        self.phase = phase
        self._at.clear()

    def _play(self, method: str, text: Raw) -> Raw:
        params = json.loads(bytes(text))
        if method == "machine.begin_call":
            return _raw(f"{params['host']}/{params['agent']}/{params['method']}")
        asked = question(method, params)
        said = (self._said[phase].get(asked) for phase in (self.phase, *PHASES))
        answers = next((each for each in said if each), [None])
        answer = answers[min(self._at[asked], len(answers) - 1)]
        self._at[asked] += 1
        if method == "machine.call":
            answer = self.lie(params["method"], {} if answer is None else answer)
        elif method == "machine.finish_call":
            answer = self.lie(params["ticket"].rpartition("/")[2], {} if answer is None else answer)
        return _raw(answer)


def _raw(answer: Any) -> Raw:
    return Raw(json.dumps(answer).encode())


def in_phases(machines: Recorder | Player, patch: pytest.MonkeyPatch) -> None:
    """Have the machines know when a path is opened, and when a trial begins."""
    workload_of = campaign.workload_of

    def phased(*arguments: Any) -> Workload:
        workload = workload_of(*arguments)
        set_up = workload.setup

        def setup(*about: Any) -> Setup:
            made = set_up(*about)
            open_it = made.path.open

            def opened() -> Any:
                machines.begin(OPEN)
                return open_it()

            def measured(*about: Any) -> Any:
                machines.begin(TRIAL)
                machines.is_measuring = True
                try:
                    return made.measure(*about)
                finally:
                    machines.is_measuring = False

            patch.setattr(made.path, "open", opened)
            return Setup(made.path, measured)

        patch.setattr(workload, "setup", setup)
        return workload

    patch.setattr(campaign, "workload_of", phased)
