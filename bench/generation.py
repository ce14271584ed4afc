"""Generation: how many frames a second one core puts onto a veth pair."""

from dataclasses import replace
from itertools import groupby
from pathlib import Path

from bench.figure import Figure, Section
from bench.ground import Ground, link_ground
from bench.rounds import ROUNDS, against, in_rounds
from bench.senders import (
    IPERF3,
    SEND_S,
    TESTPMD,
    TRAFGEN,
    TRAFGEN_SENDS,
    Sender,
    commands,
    fastest,
    peers,
    vtax,
)
from vtax.testbed.host_session import hold_host
from vtax.testbed.layout import cpu_layout

FRAME_BYTES = (64, 1500)
TRAFGENS = (TRAFGEN, TRAFGEN_SENDS)
REQUIRED: dict[int, tuple[tuple[tuple[Sender, ...], float], ...]] = {
    64: ((TRAFGENS, 2.0), ((IPERF3,), 3.5), (TESTPMD, 1.5)),
    1500: ((TRAFGENS, 1.8), (TESTPMD, 1.3)),
}
"""In the sender's context: peers, and how many times the fastest of them vtax is to reach."""

TEXT = f"""
Every sender has the same core and the same veth pair, segmentation and checksum offload off, by turns in
{ROUNDS} rounds of about {SEND_S:g} s; a round before them is for warming up. Scatter-gather is off for vtax, as
in a campaign, and on for the others, which is faster for them. A BPF program at the far end's tc ingress
counts and drops frames of the length under test, whoever sent them: nobody's own claim is used, and a train
that left uncut is not counted. vtax sends by the mechanism that its calibration finds fastest, as in a
campaign; every frame carries its own sequence number and time, and a UDP checksum over them. Frames of testpmd
have none: in rows *without checksums* the kernel leaves those of vtax to whoever receives them.

*Sender's context*: the far end's ingress runs within the sender's system call, on its core. *Own context*:
a kernel thread on another core polls the far end, as a NIC's queue would be; a full ring takes no more.
Ratios are formed within one context only. Of trafgen the faster of ring and single sends
is compared, of testpmd that of both drivers.
"""


def run(directory: Path) -> Section:
    """Both contexts, both lengths, all senders."""
    cpus = cpu_layout()
    figures: list[Figure] = []
    used: list[str] = []
    with hold_host("bench generation") as record:
        for own_context in (False, True):
            with link_ground(record, cpus, directory, own_context=own_context) as ground:
                for frame_bytes in FRAME_BYTES:
                    figures += _figures(ground, frame_bytes, own_context=own_context)
                used = commands(ground, FRAME_BYTES[0])
    shown = "\n".join(f"    {command}" for command in used)
    text = f"{TEXT}\nThe peers at {FRAME_BYTES[0]} bytes, each pinned to the sender's core:\n\n{shown}\n"
    return Section("Generation", text, tuple(figures))


def _figures(ground: Ground, frame_bytes: int, *, own_context: bool) -> list[Figure]:
    with ground.counting(frame_bytes):  # a campaign's calibration has its frames dropped as well
        mechanism = fastest(ground, frame_bytes)
    others = peers(own_context=own_context)
    ours = vtax(mechanism)
    if own_context:
        rates = in_rounds(ground, (ours, *others), frame_bytes)
        return [
            against(f"{frame_bytes} B, own context: {family}", rates, ours, tuple(group))
            for family, group in groupby(others, lambda peer: peer.family)
        ]
    bare = vtax(mechanism, checksums=False)
    rates = in_rounds(ground, (ours, bare, *others), frame_bytes)
    figures = []
    for group, least in REQUIRED[frame_bytes]:
        name = f"{frame_bytes} B, sender's context: {group[0].family}"
        figure = against(name, rates, ours, group, least)
        if group is not TESTPMD:
            figures.append(figure)
            continue
        alike = against(f"{name}, without checksums", rates, bare, group, least)
        figures += [told_of_checksums(figure, alike), replace(alike, holds=None, required="")]
    return figures


def told_of_checksums(figure: Figure, alike: Figure) -> Figure:
    """What a miss comes from, if it comes from that: testpmd leaves the UDP checksum out."""
    if figure.holds or not alike.holds:
        return figure
    note = (
        "The frames of testpmd have no UDP checksum, those of vtax have one. Without it vtax sends "
        f"{alike.ours.partition(': ')[2]}: what is required holds."
    )
    return replace(figure, note=note)
