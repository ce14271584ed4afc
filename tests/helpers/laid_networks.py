"""A testbed's network as text: what was made in which order, how interfaces are set up, guests and ends."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from vtax.agent_api import GuestNic, SourceStream, StreamInterface
from vtax.testbed.host import PortNic

Acts = Iterable[tuple[str, dict[str, Any]]]
PREFIX = "02:76:74:61:"
"""All MACs of testbeds begin so."""


def made(acts: Acts) -> Iterator[str]:
    """Hosts, agents, links and ports, in the order in which they were made."""
    for method, params in acts:
        of = params.get("arguments", params)
        match method:
            case "machine.new_host":
                yield f"{params['host']}{', far' if params['far'] else ''}"
            case "host.start_agent":
                yield f"{params['host']}: agent {of['name']} on the CPUs of {of['cpus']}"
            case "machine.join":
                ends = (f"{end['host']}/{end['interface']} {_mac(end)}" for end in (of["one"], of["other"]))
                yield f"{' == '.join(ends)}, mtu {of['mtu']}"
            case "host.open_port":
                yield f"{params['host']}: port {of['name']}, {of['kind']} at {of['end']['interface']}"
                yield from (f"    far: {_station(station)}" for station in of["far"])
                yield from (f"    near: {_station(station)}" for station in of["near"])
                if (cap := of["cap"]) is not None:
                    yield f"    cap: {_words(cap)}"
            case "host.attach":
                yield f"{params['host']}: {of['interface']} is a member of {of['port']}, for {_mac(of)}"


def set_up(acts: Acts) -> Iterator[str]:
    """What was done at each interface, in order; what was done twice is there once."""
    done: dict[str, list[str]] = defaultdict(list)
    for method, params in acts:
        if method == "host.set_end":
            end, act = params["arguments"]["end"], params["arguments"]["act"]
            words = " ".join(filter(None, (act.pop("type"), _words(act))))
            if words == "SetAddress":
                words += f" {_mac(end)}"
            done[f"{params['host']}/{end['interface']}"].append(words)
        elif method == "host.give_ingress_context":
            of = params["arguments"]
            done[f"{params['host']}/{of['interface']}"].append(f"polled on the CPUs of {of['cpus']}")
    return (f"{name}: {'; '.join(dict.fromkeys(each))}" for name, each in sorted(done.items()))


def watched(acts: Acts) -> Iterator[str]:
    """Whose agent watches the UUT's kernel, where one has to that is there from the beginning."""
    for method, params in acts:
        if method == "watcher":
            yield f"{params['of']} by agent {params['agent']} of {params['host']}"


def streams(sources: Iterable[SourceStream], sinks: Iterable[StreamInterface]) -> Iterator[str]:
    """Streams of frames from their sources to their sinks."""
    for source, sink in zip(sources, sinks, strict=True):
        macs = f"{source.source_mac.removeprefix(PREFIX)} to {source.destination_mac.removeprefix(PREFIX)}"
        addresses = f"{source.source_ip} to {source.destination_ip}"
        rate = "unlimited" if source.link_mbps is None else f"{source.link_mbps:g} Mbit/s"
        yield f"{source.stream}: {source.interface} to {sink.interface}, {macs}, {addresses}, {rate}"


def taken_down(acts: Acts) -> str:
    """The hosts in the order in which they were closed."""
    return ", ".join(params["host"] for method, params in acts if method == "host.close")


def guest(
    name: str, host: str, nics: list[PortNic], interfaces: list[GuestNic], forwards: bool, egress: list[str]
) -> Iterator[str]:
    """A guest with its NICs."""
    leaves_by = ", ".join(mac.removeprefix(PREFIX) for mac in egress)
    yield f"{name} on {host}, {'router' if forwards else 'end host'}, measured at {leaves_by}"
    for own, interface in zip(nics, interfaces, strict=True):
        assert own.mac == interface.mac
        yield f"    {own.port}: {nic(interface)}"


def nic(interface: GuestNic) -> str:
    """An interface as an agent sets it up."""
    known = (f"{each.address} at {each.mac.removeprefix(PREFIX)}" for each in interface.neighbours)
    routes = (f"to {each.network} by {each.gateway}" for each in interface.routes or ())
    words = f"{interface.mac.removeprefix(PREFIX)} {interface.address} mtu {interface.mtu}"
    return ", ".join([words, *known, *routes])


def sections(**texts: Iterable[str]) -> str:
    """Each of these with its heading."""
    return "\n".join(
        f"{heading.replace('_', ' ')}\n" + "".join(f"    {line}\n" for line in lines)
        for heading, lines in texts.items()
    )


def _mac(of: dict[str, Any]) -> str:
    return str(of["mac"]).removeprefix(PREFIX)


def _station(station: dict[str, Any]) -> str:
    beyond = (f"and {network} beyond" for network in station["beyond"])
    towards = f"sends to {station['towards'].removeprefix(PREFIX)}" if station["towards"] else ""
    return " ".join(filter(None, [_mac(station), station["address"], *beyond, towards]))


def _words(of: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in of.items() if value is not None).replace(PREFIX, "")
