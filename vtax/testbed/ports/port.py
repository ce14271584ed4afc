"""A port: where a guest's NIC meets the host, and what stands there between it and a link's end.

Forwarding entries are static and nothing is learned or flooded, so that only the measured frames cross it. A kind of
port is a module of this package with one class.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from vtax.machine.ownership import OwnershipRecord
from vtax.testbed.accounts import HOST, Account
from vtax.testbed.addressing import Station
from vtax.testbed.link import LinkEnd

UUT = "uut"
"""The host whose work is what is measured; others are named in the CPU ledger."""


class Service(Protocol):
    """A program that all ports of a host share."""

    def threads(self) -> dict[int, tuple[int, str]]:
        """Its threads: thread id to (process id, component)."""

    def close(self) -> None:
        """End it, after the last of its ports."""


@dataclass(frozen=True)
class Surroundings:
    """The host that a port is on: its CPUs, its ownership record, and the services that it runs."""

    name: str
    record: OwnershipRecord
    cpus: Sequence[int]
    services: dict[str, Service] = field(default_factory=dict)

    def service(self, name: str, start: Callable[[], Service]) -> Service:
        """The host's only service of that name, started where it does not run yet."""
        if name not in self.services:
            self.services[name] = start()
        return self.services[name]

    def threads(self) -> dict[int, tuple[int, Account]]:
        """The services' threads: thread id to (process id, whose)."""
        domain = HOST if self.name == UUT else self.name
        told = [service.threads() for service in self.services.values()]
        return {tid: (pid, Account(domain, name)) for each in told for tid, (pid, name) in each.items()}

    def close(self) -> None:
        """End all services."""
        while self.services:
            self.services.popitem()[1].close()


@dataclass(frozen=True)
class Site:
    """Where a port is made: the link's end, and who is to be reached through it on either side."""

    end: LinkEnd
    name: str
    far: Sequence[Station] = ()
    """What the link leads to."""
    near: Sequence[Station] = ()
    """The guests."""
    host: Surroundings | None = None
    """None where nothing but interfaces is to be made."""


class Port:
    """What all ports have; as it stands, one that guests' interfaces are joined to and that has no counters."""

    title: ClassVar[str]
    """What it is, for the doctor's table."""
    answers_for_guests: ClassVar[bool] = False
    """Whether the link's end has the first guest's MAC, by which its far ends send to all guests."""
    offloads: ClassVar[bool] = True
    """Whether it takes frames that whoever sends them leaves to be cut up or completed behind it."""
    own_interface: ClassVar[bool] = False
    """Whether the host takes part by an interface of the port's name; else by the link's end."""

    def __init__(self, site: Site) -> None:
        self.end = site.end
        self._interfaces: dict[str, str] = {}

    @classmethod
    def find(cls) -> dict[str, str]:
        """Look whether this machine has it; returns facts for the result, raises PlatformUnusable."""
        return {}

    @property
    def lower(self) -> str | None:
        """The interface that guests' NICs are made on top of; None where they are joined to the port."""
        return None

    def interface_of(self, guest_mac: str) -> str:
        """The interface in the host's namespace by which a guest's NIC meets the host; KeyError without one."""
        return self._interfaces[guest_mac]

    def attach(self, interface: str, guest_mac: str) -> None:
        """Join the guest's interface, which is in the host's namespace, to the port."""
        self._interfaces[guest_mac] = interface

    def dropped(self) -> Mapping[str, int]:
        """Frames that it dropped so far, by the interface of the host's namespace that they came from."""
        return {}

    def close(self) -> None:
        """Take the port away and leave the link's end as it was."""


class WirePort(Port):
    """No port at all: the link's end itself is the NIC. Raw has this one."""

    title = "the link's end itself"
    answers_for_guests = True

    def interface_of(self, guest_mac: str) -> str:
        """The link's end."""
        return self.end.interface
