"""Declare the network of one guest: each stream has its own links, from a source through the UUT to a sink.

    source  src0 == in0  port-in0 -- guest -- port-out0  out0 == snk0  sink
            src1 == in1  port-in1 --/     \\-- port-out1  out1 == snk1

No interface is shared. Streams take turns at sources and sinks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vtax.agent_api import GuestNic
from vtax.testbed.addressing import StreamAddresses
from vtax.testbed.end_acts import CompleteFrames, ShapeHost, TagInside, paced_by_source
from vtax.testbed.guest import GUEST, GuestSpec, interface
from vtax.testbed.machines import turn_of
from vtax.testbed.network import FrameStream, Link, Network, Node, NodeAgent, Part, Plug, Port
from vtax.testbed.ports import PORTS
from vtax.testbed.settings import LocalSettings


def dedicated(
    settings: LocalSettings, port_kind: str, streams: int, roles: Mapping[str, Sequence[str]]
) -> Network:
    """Declare so many streams through a guest. Of hosts of a role (Machines.roles) it has no more than streams."""
    sources, sinks = roles["source"][:streams], roles["sink"][:streams]
    laid = [
        stream_links(
            settings,
            port_kind,
            StreamAddresses(number, settings.encapsulation.ip_version),
            (turn_of(number, sources), "uut", turn_of(number, sinks)),
        )
        for number in range(streams)
    ]
    guest = GuestSpec(
        GUEST,
        "uut",
        {port: nic for links in laid for port, nic in links.at_ports.items()},
        forwards=True,
    )
    return Network(
        settings,
        parts=(
            *(Node(host) for host in (*sources, "uut", *sinks)),
            *(NodeAgent(host, "source") for host in sources),
            *(NodeAgent(host, "sink", watches=host == sinks[0]) for host in sinks),
            *(part for links in laid for part in links.parts),
        ),
        guests=(guest,),
        streams=tuple(links.stream for links in laid),
    )


@dataclass(frozen=True)
class StreamLinks:
    """A stream's own pair of links."""

    stream: FrameStream
    parts: tuple[Part, ...]
    at_ports: dict[str, GuestNic]
    """The NICs of the guest, one in and one out; see GuestSpec."""


def stream_links(
    settings: LocalSettings,
    port_kind: str,
    stream: StreamAddresses,
    hosts: tuple[str, str, str],
    *,
    talks: bool = False,
) -> StreamLinks:
    """Declare a stream's own links from the first of the hosts through a guest of the second to the third.

    Interfaces and ports have the stream's number in their names. Where it `talks`, source and guest talk to each other,
    as hosts do, instead of frames passing through.
    """
    number, kind = stream.stream, PORTS[port_kind]
    source, through, sink = hosts
    as_host = ShapeHost(settings.link_mbps, settings.flow_control, settings.mtu)
    whole = () if kind.offloads else (CompleteFrames(),)
    from_source = (as_host, *whole) if talks else (CompleteFrames(), paced_by_source(settings))
    if kind.answers_for_guests:
        in_mac, out_mac = stream.uut_in_mac, stream.uut_out_mac
    else:
        in_mac, out_mac = stream.end_mac(0), stream.end_mac(1)
    src = Plug(source, f"src{number}", stream.source_mac, from_source)
    into = Plug(through, f"in{number}", in_mac, (as_host,) if talks else (), ingress="host")
    out = Plug(through, f"out{number}", out_mac, (TagInside(),))
    snk = Plug(sink, f"snk{number}", stream.sink_mac)
    cap_in, cap_out = (settings.cap([f"ether dst {mac}"]) for mac in (stream.source_mac, stream.sink_mac))
    port_in = Port(f"port-in{number}", port_kind, into, [stream.at_source], [stream.uut_in], cap_in)
    port_out = Port(f"port-out{number}", port_kind, out, [stream.at_sink], [stream.uut_out], cap_out)
    return StreamLinks(
        FrameStream(stream, source, sink, destination_mac=stream.uut_in_mac, link_mbps=settings.link_mbps),
        (Link(src, into), Link(out, snk), port_in, port_out),
        {
            port_in.name: interface(settings, stream.uut_in, [stream.at_source]),
            port_out.name: interface(settings, stream.uut_out, [stream.at_sink]),
        },
    )
