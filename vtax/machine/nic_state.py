"""What an interface is set to, and how it is set so again after it was in another namespace.

The move takes from an interface its addresses, routes, queueing disciplines and all below /proc/sys/net. What it keeps
may have been changed there. Both are read before, and what differs afterwards is set.
"""

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path
from socket import AF_INET, AF_INET6
from typing import Annotated

from msgspec import Meta, Struct
from pyroute2 import IPRoute
from pyroute2.ethtool.ioctl import IoctlEthtool, NotSupportedError
from pyroute2.netlink import nlmsg

from vtax.machine.namespace import index_of
from vtax.machine.operation import UP_S, becomes_operational, is_operational
from vtax.machine.qdiscs import Qdisc, read_qdiscs, remove_qdisc, set_qdisc

InterfaceName = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_][A-Za-z0-9_.:-]{0,14}\Z")]
Mac = Annotated[str, Meta(pattern=r"\A([0-9a-f]{2}(:[0-9a-f]{2}){5})?\Z")]
IpAddress = Annotated[str, Meta(pattern=r"\A[0-9a-f.:]{0,45}\Z")]
Word = Annotated[str, Meta(pattern=r"\A[a-z0-9_-]{1,64}\Z")]
Setting = Annotated[str, Meta(pattern=r"\Aipv[46]/(conf|neigh)/[a-z0-9_]{1,64}\Z")]
Octet = Annotated[int, Meta(ge=0, le=0xFF)]
Number = Annotated[int, Meta(ge=0, le=0xFFFFFFFF)]

log = logging.getLogger(__name__)

IFF_UP = 0x1
CHOSEN_FLAGS = 0x1 | 0x80 | 0x100 | 0x200 | 0x1000 | 0x8000
"""Those that users set: up, no ARP, promiscuous, all multicast, multicast, dynamic (linux/if.h)."""
CHOSEN_ADDRESS_FLAGS = 0x02 | 0x10 | 0x100 | 0x200 | 0x400
"""Those that come with an address: no DAD, home, its temporary ones managed, no route, joined (linux/if_addr.h)."""
LOCAL, BY_KERNEL = 255, 2
"""The table of a machine's own addresses, and the protocol of what the kernel adds (linux/rtnetlink.h)."""
FOREVER_S = 0xFFFFFFFF
SETTINGS = Path("/proc/sys/net")
FAMILIES = (AF_INET, AF_INET6)

Words = dict[str, str | int]
"""What a netlink request says, by pyroute2's names."""


class Address(Struct, frozen=True, forbid_unknown_fields=True):
    """An address of an interface."""

    family: Octet
    address: IpAddress
    local: IpAddress
    prefix: Octet
    scope: Octet
    flags: Number
    label: str
    broadcast: IpAddress
    priority: Number
    protocol: Octet
    preferred_s: Number
    valid_s: Number

    @property
    def key(self) -> tuple[str, str, int]:
        """What an interface has once."""
        return self.address, self.local, self.prefix


class Route(Struct, frozen=True, forbid_unknown_fields=True):
    """A route that leads to an interface's own link."""

    family: Octet
    destination: IpAddress
    prefix: Octet
    table: Number
    protocol: Octet
    scope: Octet
    kind: Octet
    tos: Octet
    priority: Number
    source: IpAddress
    preference: Octet


class NicState(Struct, frozen=True, forbid_unknown_fields=True):
    """All of an interface that the move or its use changes."""

    flags: Number
    mac: Mac
    mtu: Number
    queue_length: Number
    group: Number
    alias: str
    threaded: Annotated[str, Meta(pattern=r"\A[0-9a-z]{0,16}\Z")]
    """Whether its queues are polled by threads; empty where the kernel has no such switch."""
    requested: dict[Word, bool]
    """Features that can be changed, as they were asked for."""
    active: dict[Word, bool]
    """The same as they are."""
    settings: dict[Setting, str]
    """What is below /proc/sys/net for it."""
    addresses: list[Address]
    routes: list[Route]
    qdiscs: list[Qdisc]
    operational: bool = False
    """Whether its link was in operation; a record of an earlier vtax does not say."""

    @property
    def up(self) -> bool:
        """Whether it is up."""
        return bool(self.flags & IFF_UP)


def read_state(ip: IPRoute, interface: str) -> NicState:
    """Read all of an interface; by a thread in its namespace, which sees that one's /sys. Raises OSError."""
    index = index_of(ip, interface)
    (link,) = ip.get_links(index)
    features = _features(interface)
    return NicState(
        flags=link["flags"] & CHOSEN_FLAGS,
        mac=link.get_attr("IFLA_ADDRESS") or "",
        mtu=link.get_attr("IFLA_MTU"),
        queue_length=link.get_attr("IFLA_TXQLEN") or 0,
        group=link.get_attr("IFLA_GROUP") or 0,
        alias=link.get_attr("IFLA_IFALIAS") or "",
        operational=is_operational(ip, index),
        threaded=_threaded(interface),
        requested={name: requested for name, (requested, _) in features.items()},
        active={name: active for name, (_, active) in features.items()},
        settings={name: text for name, path in _settings(interface) if (text := _content(path)) is not None},
        addresses=_addresses(ip, index),
        routes=_routes(ip, index),
        qdiscs=read_qdiscs(index),
    )


def restore_state(ip: IPRoute, interface: str, state: NicState) -> None:
    """Set an interface to what was read; by a thread as read_state has it. Raises OSError, NetlinkError."""
    index = index_of(ip, interface)
    (link,) = ip.get_links(index)
    if link["flags"] & IFF_UP and not state.up:
        ip.link("set", index=index, state="down")
    _restore_link(ip, index, state)
    for name, path in _settings(interface):
        if name in state.settings and _content(path) not in (None, state.settings[name]):
            path.write_text(state.settings[name])
    _restore_features(interface, state.requested)
    _restore_qdiscs(index, state.qdiscs)
    _restore_addresses(ip, index, AF_INET, state.addresses)
    if state.up:
        ip.link("set", index=index, state="up")
    restore_threads(interface, state.threaded)
    # By then the kernel has given it the addresses of IPv6 that it gives by itself.
    if state.operational and not becomes_operational(ip, index):
        log.warning("%s was in operation, and is not after %g s; is its cable plugged in?", interface, UP_S)
    _restore_addresses(ip, index, AF_INET6, state.addresses)
    _restore_routes(ip, index, state.routes)


def _restore_link(ip: IPRoute, index: int, state: NicState) -> None:
    (link,) = ip.get_links(index)
    if state.mac and link.get_attr("IFLA_ADDRESS") != state.mac:
        up = link["flags"] & IFF_UP
        if up:  # many drivers take no other one then
            ip.link("set", index=index, state="down")
        ip.link("set", index=index, address=state.mac)
    wanted = {
        "mtu": ("IFLA_MTU", state.mtu),
        "txqlen": ("IFLA_TXQLEN", state.queue_length),
        "group": ("IFLA_GROUP", state.group),
        "ifalias": ("IFLA_IFALIAS", state.alias),
    }
    changed = {key: value for key, (name, value) in wanted.items() if (link.get_attr(name) or "") != value}
    changed = {key: value for key, value in changed.items() if value or link.get_attr(wanted[key][0])}
    if changed:
        ip.link("set", index=index, **changed)
    differing = (link["flags"] ^ state.flags) & CHOSEN_FLAGS & ~IFF_UP
    if differing:
        ip.link("set", index=index, flags=state.flags & differing, change=differing)


def _settings(interface: str) -> Iterator[tuple[str, Path]]:
    """What can be set of an interface below /proc/sys/net: coarse units before the fine ones of the same."""
    for family in ("ipv4", "ipv6"):
        for part in ("conf", "neigh"):
            place = SETTINGS / family / part / interface
            for path in sorted(place.iterdir()) if place.is_dir() else ():
                if path.stat().st_mode & 0o200:
                    yield f"{family}/{part}/{path.name}", path


def _content(path: Path) -> str | None:
    """What a setting is; None where it is not set, or gone."""
    try:
        return path.read_text().strip()
    except OSError:
        return None


def _threaded_file(interface: str) -> Path:
    return Path(f"/sys/class/net/{interface}/threaded")


def _threaded(interface: str) -> str:
    return _content(_threaded_file(interface)) or ""


def restore_threads(interface: str, threaded: str) -> None:
    """Have an interface polled by threads or not, as far as it has queues by now that could be polled so.

    Some have queues only while they are up, and a veth only with the feature rx-gro.
    """
    if threaded != _threaded(interface):
        with contextlib.suppress(OSError):
            _threaded_file(interface).write_text(threaded)


def _features(interface: str) -> dict[str, tuple[bool, bool]]:
    """Features that can be changed: as requested, as active."""
    with contextlib.closing(IoctlEthtool(interface)) as ethtool:
        found = ethtool.get_features()
        available = [name for name in found.keys() if found.is_available(name)]  # noqa: SIM118 - it is no dict
        return {name: (bool(found.is_requested(name)), bool(found.is_active(name))) for name in available}


def _restore_features(interface: str, requested: dict[str, bool]) -> None:
    """Request features all at once: one that stands on another follows it."""
    with contextlib.closing(IoctlEthtool(interface)) as ethtool:
        found = ethtool.get_features()
        known = {
            name: wanted for name, wanted in requested.items() if name in found and found.is_available(name)
        }
        if any(bool(found.is_requested(name)) != wanted for name, wanted in known.items()):
            for name, wanted in known.items():
                found[name] = wanted
            with contextlib.suppress(
                NotSupportedError
            ):  # it was set, and is not active: it was not before either
                ethtool.set_features(found)


def _addresses(ip: IPRoute, index: int) -> list[Address]:
    return [_address(message) for family in FAMILIES for message in ip.get_addr(family=family, index=index)]


def _address(message: nlmsg) -> Address:
    times = message.get_attr("IFA_CACHEINFO") or {}
    return Address(
        family=message["family"],
        address=message.get_attr("IFA_ADDRESS") or "",
        local=message.get_attr("IFA_LOCAL") or "",
        prefix=message["prefixlen"],
        scope=message["scope"],
        flags=(message.get_attr("IFA_FLAGS") or message["flags"]) & CHOSEN_ADDRESS_FLAGS,
        label=message.get_attr("IFA_LABEL") or "",
        broadcast=message.get_attr("IFA_BROADCAST") or "",
        priority=message.get_attr("IFA_RT_PRIORITY") or 0,
        protocol=message.get_attr("IFA_PROTO") or 0,
        preferred_s=times.get("ifa_preferred", FOREVER_S),
        valid_s=times.get("ifa_valid", FOREVER_S),
    )


def _restore_addresses(ip: IPRoute, index: int, family: int, addresses: list[Address]) -> None:
    """Have an interface have these addresses of a family, and no other."""
    wanted = [each for each in addresses if each.family == family]
    there = {each.key: each for each in _addresses(ip, index) if each.family == family}
    keep = {each.key for each in wanted}
    for each in (each for key, each in there.items() if key not in keep):
        ip.addr(
            "del", index=index, family=each.family, address=each.local or each.address, prefixlen=each.prefix
        )
    for each in (each for each in wanted if each.key not in there):
        words: Words = {
            "family": each.family,
            "prefixlen": each.prefix,
            "scope": each.scope,
            "address": each.address,
            "local": each.local or each.address,
            "flags": each.flags,
        }
        optional: Words = {"label": each.label, "broadcast": each.broadcast, "rt_priority": each.priority}
        optional |= {"proto": each.protocol}
        words |= {key: value for key, value in optional.items() if value}
        if each.valid_s != FOREVER_S:
            words |= {"preferred": each.preferred_s, "valid": each.valid_s}
        ip.addr("add", index=index, **words)


def _routes(ip: IPRoute, index: int) -> list[Route]:
    """Routes by an interface, but those that come and go with its addresses."""
    found = [message for family in FAMILIES for message in ip.route("dump", family=family)]
    routes = [_route(message) for message in found if message.get_attr("RTA_OIF") == index]
    return [route for route in routes if (route.table, route.protocol) != (LOCAL, BY_KERNEL)]


def _route(message: nlmsg) -> Route:
    return Route(
        family=message["family"],
        destination=message.get_attr("RTA_DST") or "",
        prefix=message["dst_len"],
        table=message.get_attr("RTA_TABLE") or message["table"],
        protocol=message["proto"],
        scope=message["scope"],
        kind=message["type"],
        tos=message["tos"],
        priority=message.get_attr("RTA_PRIORITY") or 0,
        source=message.get_attr("RTA_PREFSRC") or "",
        preference=int(message.get_attr("RTA_PREF") or 0),
    )


def _restore_routes(ip: IPRoute, index: int, wanted: list[Route]) -> None:
    there = _routes(ip, index)
    for act, routes in (("del", set(there) - set(wanted)), ("add", set(wanted) - set(there))):
        for each in sorted(routes, key=wanted.index if act == "add" else there.index):
            ip.route(act, **_words(each, index))


def _words(route: Route, index: int) -> Words:
    words: Words = {
        "family": route.family,
        "dst": f"{route.destination}/{route.prefix}",
        "table": route.table,
        "proto": route.protocol,
        "scope": route.scope,
        "type": route.kind,
        "tos": route.tos,
        "oif": index,
    }
    optional: Words = {"priority": route.priority, "prefsrc": route.source, "pref": route.preference}
    return words | {key: value for key, value in optional.items() if value}


def _restore_qdiscs(index: int, wanted: list[Qdisc]) -> None:
    """Have those that were set, and the kernel's own where none was."""
    there = read_qdiscs(index)
    if there == wanted:
        return
    for each in there:
        with contextlib.suppress(OSError):  # it has gone with the one above
            remove_qdisc(index, each)
    for each in wanted:
        set_qdisc(index, each)
