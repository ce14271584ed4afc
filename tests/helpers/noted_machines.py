"""Machines on which nothing is made: what their hosts are asked to do is noted, in order."""

import json
from collections.abc import Sequence
from typing import Any

from msgspec import Raw

from vtax.testbed.clocks import ONE_CLOCK, ClockAhead
from vtax.testbed.host import Host
from vtax.testbed.machines import Agent, End, OneMachine, host_names
from vtax.testbed.remote.machine import RemoteHost, RemoteMachine

CPUS = {"agents": [0], "host": [1], "guests": [2], "controller": [3]}


class _Noted(RemoteMachine):
    def __init__(self, acts: list[tuple[str, Any]]) -> None:
        self.name, self.cpus, self.is_emulated, self.clock_identity = "noted", CPUS, False, "noted"
        self._acts = acts

    def reach(self) -> None:
        """It is here."""

    def ask(self, method: str, params: Raw, limit_s: float) -> Raw:
        """Note it; whatever is made returns nothing."""
        self._acts.append((method, json.loads(bytes(params))))
        return Raw(b"null")


class NotedMachines(OneMachine):
    """Hosts of one machine, with so many sources and sinks; `acts` has a method and its params each."""

    def __init__(self, several: int = 1) -> None:
        self.acts: list[tuple[str, Any]] = []
        self._noted = _Noted(self.acts)
        self._several = several

    @property
    def roles(self) -> dict[str, list[str]]:
        """See Machines."""
        return {
            "source": host_names("source", self._several),
            "uut": ["uut"],
            "sink": host_names("sink", self._several),
        }

    def host(self, name: str, *, far: bool = False) -> Host:
        """See Machines."""
        return RemoteHost(name, self._noted, far=far)

    def join(self, one: End, other: End, mtu: int) -> None:
        """See Machines."""
        self._noted.join(one, other, mtu)

    def watcher(self, uut: Host, instrument: Agent) -> Agent:
        """See Machines."""
        self.acts.append(("watcher", {"of": uut.name, "host": instrument[0].name, "agent": instrument[1]}))
        return instrument

    def compare_clocks(self, pairs: Sequence[tuple[Host, Host]]) -> list[ClockAhead]:
        """See Machines."""
        self.acts.append(("compare_clocks", {"pairs": [[one.name, other.name] for one, other in pairs]}))
        return [ONE_CLOCK] * len(pairs)
