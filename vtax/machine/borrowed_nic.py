"""Interfaces of this machine that a host's namespace borrows, and gives back as they were."""

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta
from pyroute2 import IPRoute

from vtax.machine.namespace import Namespace, index_of
from vtax.machine.nic_state import InterfaceName, NicState, read_state, restore_state, restore_threads
from vtax.machine.nic_use import find_use
from vtax.machine.ownership import Name, Owned, OwnershipRecord

OWN = Namespace("vtax's own", Path("/proc/self/ns/net"))

T = TypeVar("T")


class BorrowedInterface(Owned, frozen=True, tag="interface"):
    """An interface of this machine in a host's namespace, and all that it was before."""

    name: InterfaceName
    called: InterfaceName
    host: Name
    origin: Annotated[int, Meta(ge=0)]
    """The namespace that it came from, by its inode."""
    state: NicState

    @property
    def needs(self) -> list[Path]:
        """See Owned. Interfaces that are not of hardware end with their namespace."""
        return [Namespace(self.host).path]

    def is_there(self) -> bool:
        """Return whether it is still away, or is back and not yet as it was."""
        if OWN.inode != self.origin:
            raise OSError("it came from another network namespace; run vtax clean in that one")
        return self._is_away() or _own(self._differs)

    def remove(self) -> None:
        """Take it out of the host's namespace, and set it as it was."""

        def take_back(ip: IPRoute) -> None:
            index = index_of(ip, self.called)
            ip.link("set", index=index, state="down")
            ip.link("set", index=index, ifname=self.name, net_ns_pid=os.getpid())

        if self._is_away():
            host = Namespace(self.host)
            host.run(lambda: restore_threads(self.called, self.state.threaded), private_sysfs=True)
            host.netlink(take_back)
        _own(lambda ip: restore_state(ip, self.name, self.state))

    def _is_away(self) -> bool:
        host = Namespace(self.host)
        return host.path.exists() and bool(host.netlink(lambda ip: ip.link_lookup(ifname=self.called)))

    def _differs(self, ip: IPRoute) -> bool:
        if not ip.link_lookup(ifname=self.name):
            return False
        return _comparable(read_state(ip, self.name)) != _comparable(self.state)


@dataclass(frozen=True)
class BorrowedNic:
    """An interface in a host's namespace."""

    owned: BorrowedInterface
    record: OwnershipRecord

    @property
    def mtu(self) -> int:
        """Its MTU before."""
        return self.owned.state.mtu

    @property
    def offloads(self) -> list[str]:
        """Features that were active, of those that can be changed."""
        return [name for name, active in self.owned.state.active.items() if active]

    def give_back(self) -> None:
        """Take it out of the host's namespace, as it was; one that is not there is passed over.

        What could not be set as it was stays in the record, so that it is named when that is cleaned.
        """
        if self.owned.is_there():
            self.owned.remove()
        if not self.owned.is_there():
            self.record.forget(self.owned)


def problem_of(interface: str) -> str | None:
    """Return why an interface of this machine cannot be borrowed, as it follows its name; None where it can be."""
    return _own(lambda ip: find_use(ip, interface))


def borrow(
    interface: str,
    host: Namespace,
    mtu: int,
    record: OwnershipRecord,
    called: str | None = None,
    mac: str | None = None,
) -> BorrowedNic:
    """Have an interface in the host's namespace, up, under another name and with another MAC where these are given.

    Raises OSError, NetlinkError. It is as it was then.
    """
    name = called or interface

    def move(ip: IPRoute) -> None:
        ip.link("set", index=index_of(ip, interface), net_ns_fd=str(host.path), ifname=name)

    owned = BorrowedInterface(
        interface, name, host.name, OWN.inode, _own(lambda ip: read_state(ip, interface))
    )
    borrowed = BorrowedNic(owned, record)
    record.add(owned)
    address = {"address": mac} if mac is not None else {}
    try:
        OWN.netlink(move)
        host.netlink(lambda ip: ip.link("set", index=index_of(ip, name), mtu=mtu, **address))
        host.bring_up(name)
    except BaseException:
        with contextlib.suppress(Exception):  # what is still to be done stays in the record
            borrowed.give_back()
        raise
    return borrowed


def _own(act: Callable[[IPRoute], T]) -> T:
    """Run `act` in vtax's own namespace, with a view of /sys of its own."""

    def inside() -> T:
        with IPRoute() as ip:
            return act(ip)

    return OWN.run(inside, private_sysfs=True)


def _comparable(state: NicState) -> NicState:
    """What of a state is the same again once it is restored: not what runs out, or follows from other things."""
    addresses = [msgspec.structs.replace(each, preferred_s=0, valid_s=0) for each in state.addresses]
    return msgspec.structs.replace(
        state,
        operational=False,
        active={},
        addresses=sorted(addresses, key=lambda each: each.key),
        routes=sorted(state.routes, key=str),
    )
