"""Generation: how many frames a second one core puts onto a veth pair."""

from pathlib import Path

from bench.figure import Figure, Section
from bench.ground import Ground, link_ground
from bench.rounds import ROUNDS, against, in_rounds
from bench.senders import (
    IPERF3,
    PEERS,
    SEND_S,
    TESTPMD_PACKET,
    TESTPMD_XDP,
    TRAFGEN,
    Sender,
    commands,
    fastest,
)
from vtax.campaign.hold import hold_host
from vtax.testbed.layout import cpu_layout

FRAME_BYTES = (64, 1500)
TESTPMD = (TESTPMD_XDP, TESTPMD_PACKET)
REQUIRED: dict[int, tuple[tuple[tuple[Sender, ...], float], ...]] = {
    64: (((TRAFGEN,), 2.0), ((IPERF3,), 3.5), (TESTPMD, 1.5)),
    1500: (((TRAFGEN,), 1.8), (TESTPMD, 1.3)),
}
"""In the sender's context: peers, and how many times the fastest of them vtax is to reach."""

TEXT = f"""
Every sender has the same core and the same veth pair, segmentation and checksum offload off, by turns in
{ROUNDS} rounds of about {SEND_S:g} s. A BPF program at the far end's tc ingress counts and drops frames of
the length under test, whoever sent them: nobody's own claim is used, and a train that left uncut is not
counted. vtax sends by the mechanism that its calibration finds fastest, as in a campaign; every frame
carries its own sequence number and time.

*Sender's context*: the far end's ingress runs within the sender's system call, on its core. *Own context*:
a kernel thread on another core polls the far end, as a NIC's queue would be; a full ring drops what comes.
Ratios are formed within one context only. Of `testpmd` the faster of both drivers is compared.
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
    ours = fastest(ground, frame_bytes)
    rates = in_rounds(ground, (ours, *PEERS), frame_bytes)
    where = "own context" if own_context else "sender's context"
    compared = (
        REQUIRED[frame_bytes] if not own_context else (((TRAFGEN,), None), ((IPERF3,), None), (TESTPMD, None))
    )
    return [
        against(f"{frame_bytes} B, {where}: {peers[0].family}", rates, ours, peers, least)
        for peers, least in compared
    ]
