"""Declare neighbours: guests beside those that are measured, on the same host, each with a far end of its own.

    own links        far end == port -- neighbour -- port == far end
    the guest's link    guest -- port == link == port -- the guest's far end
                    neighbour --/                 \\-- far ends

The far ends are bare, and have the agents' CPUs. The guest's link is that of vtax.testbed.pair.
"""

from dataclasses import replace

from vtax.agent_api import GuestNic
from vtax.keys.encapsulation import Encapsulation
from vtax.keys.testbed import MOST_GUESTS
from vtax.testbed.addressing import neighbour_streams
from vtax.testbed.dedicated import stream_links
from vtax.testbed.guest import NEIGHBOUR, GuestSpec, interface
from vtax.testbed.network import FarEnd, Network, Node
from vtax.testbed.settings import LocalSettings

NEIGHBOURS_ENTRIES = {f"in{stream.stream}" for stream in neighbour_streams(MOST_GUESTS)}
"""Where links of their own enter the guests' host."""
FAR_AGENT = "instrument far"


def needing(network: Network, least_memory_bytes: int, cpus: list[int] | None) -> Network:
    """Return the same neighbours, who need so much memory each, where guests have their own, and run on these CPUs."""
    guests = (replace(guest, least_memory_bytes=least_memory_bytes, cpus=cpus) for guest in network.guests)
    return replace(network, guests=tuple(guests))


def own_links(settings: LocalSettings, port_kind: str, count: int, *, talks: bool = False) -> Network:
    """Declare neighbours with a pair of links of their own each (schlosser2011, section 3.4); they speak IPv4.

    Their network lies in that of those who are measured. Whether they talk: see stream_links.
    """
    settings = replace(settings, encapsulation=Encapsulation())
    laid = [
        stream_links(settings, port_kind, stream, ("far", "uut", "far"), talks=talks)
        for stream in neighbour_streams(count)
    ]
    guests = tuple(neighbour(number, links.at_ports) for number, links in enumerate(laid))
    streams = tuple(links.stream for links in laid)
    ends = [
        FarEnd(
            "far",
            f"{FAR_AGENT} {number}",
            stream.source_interface,
            interface(settings, stream.addresses.at_source, [stream.addresses.uut_in]),
        )
        for number, stream in enumerate(streams)
    ]
    return Network(
        settings,
        parts=(Node("far", far=True), *(part for links in laid for part in links.parts)),
        guests=guests,
        ends=tuple((end, guest.name) for end, guest in zip(ends, guests, strict=True)),
        streams=streams,
    )


def neighbour(number: int, at_ports: dict[str, GuestNic]) -> GuestSpec:
    """Declare the neighbour of a number; it forwards where it has several NICs."""
    return GuestSpec(f"{NEIGHBOUR}{number}", "uut", at_ports, forwards=len(at_ports) > 1)
