"""Interfaces of this machine that are lent to a host's namespace, and given back as they were."""

import contextlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from msgspec import Meta
from pyroute2 import IPRoute
from pyroute2.ethtool import Ethtool
from pyroute2.ethtool.ioctl import EthtoolError

from vtax.machine.ingress import switch_threads
from vtax.machine.namespace import Namespace, index_of
from vtax.machine.offloads import set_offload
from vtax.machine.ownership import Name, Owned, OwnershipRecord

OWN = Namespace("vtax's own", Path("/proc/self/ns/net"))
IFF_UP = 1
InterfaceName = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_][A-Za-z0-9_.:-]{0,14}\Z")]


class LentInterface(Owned, frozen=True, tag="interface"):
    """An interface of this machine in a host's namespace. Whoever removes it is where it came from."""

    name: InterfaceName
    called: InterfaceName
    host: Name
    mac: Annotated[str, Meta(pattern=r"\A[0-9a-f]{2}(:[0-9a-f]{2}){5}\Z")]
    mtu: Annotated[int, Meta(ge=68, le=65535)]

    def is_there(self) -> bool:
        """See Owned."""
        return self._host.path.exists() and bool(self._host.netlink(self._find))

    def remove(self) -> None:
        """Take it out of the host's namespace."""

        def act(ip: IPRoute) -> None:
            for index in self._find(ip):
                ip.link("set", index=index, state="down")
                ip.link("set", index=index, address=self.mac, mtu=self.mtu)
                ip.link("set", index=index, ifname=self.name, net_ns_pid=os.getpid())

        self._host.netlink(act)

    @property
    def _host(self) -> Namespace:
        return Namespace(self.host)

    def _find(self, ip: IPRoute) -> list[int]:
        return list(ip.link_lookup(ifname=self.called))


@dataclass(frozen=True)
class Lent:
    """An interface in a host's namespace, and what it was before."""

    interface: str
    """As it was called, and will be again."""
    called: str
    host: Namespace
    mac: str
    mtu: int
    up: bool
    offloads: dict[str, bool] = field(default_factory=dict)
    """Of its features, those that can be changed."""

    @property
    def owned(self) -> LentInterface:
        """Its entry in a record."""
        return LentInterface(self.interface, self.called, self.host.name, self.mac, self.mtu)

    def give_back(self) -> None:
        """Take it out of the host's namespace, as it was; one that is not there is passed over."""

        if not self.owned.is_there():
            return
        try:
            # Who has no queues that threads could poll, as a veth pair without GRO, has none to switch off.
            with contextlib.suppress(OSError):
                switch_threads(self.host, self.called, False)
            changed = dict(self.offloads.items() - self.host.run(lambda: _offloads(self.called)).items())
            for feature, enabled in changed.items():
                # What stands on another feature is noted now, and follows that one.
                with contextlib.suppress(EthtoolError):
                    set_offload(self.host, self.called, feature, enabled)
        finally:
            self.owned.remove()
            if self.up:
                OWN.bring_up(self.interface)


def problem_of(interface: str) -> str | None:
    """Why an interface of this machine cannot be lent, as it follows its name; None where nothing else uses it."""

    def look(ip: IPRoute) -> str | None:
        found = ip.link_lookup(ifname=interface)
        if not found:
            return "is not there"
        (link,) = ip.get_links(found[0])
        if link.get_attr("IFLA_MASTER") is not None:
            return "is joined to another interface"
        return "has addresses" if _addresses(ip, found[0]) else None

    return OWN.netlink(look)


def lend(
    interface: str,
    host: Namespace,
    mtu: int,
    record: OwnershipRecord,
    called: str | None = None,
    mac: str | None = None,
) -> Lent:
    """Have an interface in the host's namespace, up, under another name and with another MAC where these are given.

    Raises OSError, NetlinkError.
    """
    name = called or interface

    def look(ip: IPRoute) -> Lent:
        (link,) = ip.get_links(index_of(ip, interface))
        was = (link.get_attr("IFLA_ADDRESS"), link.get_attr("IFLA_MTU"), bool(link["flags"] & IFF_UP))
        return Lent(interface, name, host, *was, OWN.run(lambda: _offloads(interface)))

    def move(ip: IPRoute) -> None:
        index = index_of(ip, interface)
        ip.link("set", index=index, state="down")
        ip.link("set", index=index, net_ns_fd=str(host.path), ifname=name)

    lent = OWN.netlink(look)
    record.add(lent.owned)
    OWN.netlink(move)
    address = {"address": mac} if mac is not None else {}
    host.netlink(lambda ip: ip.link("set", index=index_of(ip, name), mtu=mtu, **address))
    host.bring_up(name)
    return lent


def _offloads(interface: str) -> dict[str, bool]:
    with Ethtool() as ethtool:
        features = ethtool.get_features(interface).features
        return {name: bool(feature.enable) for name, feature in features.items() if feature.available}


def _addresses(ip: IPRoute, index: int) -> list[str]:
    """Addresses of an interface other than those that every one gives itself."""
    scopes = [(address["scope"], address.get_attr("IFA_ADDRESS")) for address in ip.get_addr(index=index)]
    return [str(address) for scope, address in scopes if scope == 0]
