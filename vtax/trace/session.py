"""A trace from its begin to its end: an agent follows packets, and is asked what it has seen again and again."""

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from vtax.agent_api import DropsOpenParams
from vtax.inputs import InputError
from vtax.machine.agent import Agent, AgentError, AgentGone, start_agent
from vtax.machine.namespace import NAMED, Namespace
from vtax.stages import Reading, StageMeter, interfaces_of
from vtax.trace.targets import Targets, targets
from vtax.trace.vhost import served_by_vhost

OWN_NAMESPACE = Path("/proc/self/ns/net")
HELLO_S = 5.0
DROP_PLACES = 256
ROUND_S = 1.0
"""How often what was seen is asked for."""


@dataclass(frozen=True)
class Request:
    """What is to be traced; `netns` is a name or a process id, None for the namespace that vtax runs in."""

    interfaces: Sequence[str]
    netns: str | None = None
    every: int = 64
    duration_s: float | None = None


@dataclass(frozen=True)
class Drop:
    """Packets that the kernel dropped at an interface, whoever's, and why it says it did."""

    interface: str
    arrived: bool
    reason: str
    packets: int


@dataclass
class Result:
    """What a trace has shown up to now."""

    targets: Targets
    every: int
    elapsed_s: float = 0.0
    reading: Reading | None = None
    drops: list[Drop] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """What could not be observed, a sentence each."""


class Screen(Protocol):
    """Whoever watches."""

    def show(self, result: Result) -> None:
        """Another round has gone by."""

    def note(self, text: str) -> None:
        """Something a user should know at once."""


def trace(request: Request, screen: Screen) -> Result:
    """Trace until Ctrl-C, until the duration is over, or until no interface is left.

    Raises InputError where nothing can be traced, with the next step.
    """
    if os.geteuid() != 0:
        raise InputError('trace: following packets needs root; sudo "$(command -v vtax)" trace ...')
    namespace = _namespace(request.netns)
    try:
        found = interfaces_of(namespace)
    except OSError as error:
        raise InputError(
            f"trace: {namespace.name}: {error.strerror or error}; ip netns list names namespaces"
        ) from None
    chosen = targets(request.interfaces, found, served_by_vhost)
    with contextlib.ExitStack() as undo:
        agent = undo.enter_context(_agent(namespace))
        meter = undo.enter_context(_meter(agent, chosen, request.every))
        drops = _Drops(agent, namespace, chosen.interfaces)
        result = Result(chosen, request.every, remarks=[*chosen.remarks, *drops.remarks])
        with contextlib.suppress(KeyboardInterrupt):
            for elapsed_s in _rounds(request.duration_s):
                _read(result, meter, drops, screen)
                result.elapsed_s = elapsed_s
                screen.show(result)
                if result.reading is not None and {*result.reading.gone} >= {*chosen.interfaces}:
                    screen.note("none of the interfaces is there any more")
                    return result
        _read(result, meter, drops, screen)
        return result


def _rounds(duration_s: float | None) -> Iterator[float]:
    """The seconds gone by, once a round; the last at the end of the duration."""
    begun = time.monotonic()
    while True:
        left = ROUND_S if duration_s is None else begun + duration_s - time.monotonic()
        time.sleep(max(0.0, min(ROUND_S, left)))
        yield time.monotonic() - begun
        if duration_s is not None and time.monotonic() >= begun + duration_s:
            return


def _read(result: Result, meter: StageMeter, drops: "_Drops", screen: Screen) -> None:
    before = set() if result.reading is None else {*result.reading.gone}
    try:
        result.reading, result.drops = meter.read(), drops.read()
    except AgentGone as error:
        raise InputError(f"trace: {error}; nothing of it is left attached, repeat the command") from None
    for name in result.reading.gone:
        if name not in before:
            screen.note(f"{name} is gone; the rest is traced on")
            result.remarks.append(f"{name} was gone before the end")


def _namespace(netns: str | None) -> Namespace:
    if netns is None:
        return Namespace("this network namespace", OWN_NAMESPACE)
    if netns.isdecimal() and not (NAMED / netns).exists():
        return Namespace(f"process {netns}", Path(f"/proc/{netns}/ns/net"))
    return Namespace(netns)


@contextlib.contextmanager
def _agent(namespace: Namespace) -> Iterator[Agent]:
    """An agent in the namespace, on whatever CPU is free; it ends with vtax, however that ends."""
    with tempfile.TemporaryDirectory(prefix="vtax-trace-") as directory:
        cpus = sorted(os.sched_getaffinity(0))
        try:
            agent = start_agent("trace", netns=namespace.path, cpus=cpus, log=Path(directory) / "agent.log")
        except FileNotFoundError as error:
            raise InputError(f"trace: {error}") from None
        try:
            agent.wait_hello(HELLO_S)
            yield agent
        except AgentGone as error:
            raise InputError(f"trace: {error}; see vtax doctor") from None
        finally:
            agent.close()


@contextlib.contextmanager
def _meter(agent: Agent, chosen: Targets, every: int) -> Iterator[StageMeter]:
    meter = StageMeter(agent.api)
    try:
        meter.open(chosen.trails, every=every, follow="headers")
    except AgentError as error:
        raise InputError(f"trace: {error}; vtax doctor says what this machine can trace") from None
    try:
        yield meter
    finally:
        with contextlib.suppress(AgentError, AgentGone):
            meter.close()


class _Drops:
    """Drops at the interfaces that are traced; without the kernel's reasons there are none, and a remark."""

    def __init__(self, agent: Agent, namespace: Namespace, interfaces: Sequence[str]) -> None:
        self._api, self._netns, self._interfaces = agent.api, namespace.inode, interfaces
        self.remarks: list[str] = []
        params = DropsOpenParams(namespaces=[self._netns], places=DROP_PLACES, frames="any")
        try:
            self._api.drops_open(params)
        except AgentError as error:
            self.remarks.append(f"drops are not counted: {error}")

    def read(self) -> list[Drop]:
        """All since the begin, most first."""
        if self.remarks:
            return []
        drops = [
            Drop(place.interface, place.arrived, place.reason, place.frames)
            for place in self._api.drops_read().places
            if place.netns == self._netns and place.interface in self._interfaces
        ]
        return sorted(drops, key=lambda drop: -drop.packets)
