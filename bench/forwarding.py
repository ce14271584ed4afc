"""Forwarding: what rate of a router each source is able to show."""

from dataclasses import replace
from pathlib import Path

from bench.figure import Figure, Section
from bench.ground import SOURCE_INTERFACE, Ground, router_ground
from bench.rounds import ROUNDS, against, in_rounds
from bench.senders import Sender, fastest, peers, vtax
from vtax.campaign.hold import hold_host
from vtax.testbed.layout import cpu_layout

FRAME_BYTES = (64, 1500)
LEAST = 1.25
OVERFLOWS = 0.01
"""A source of whose frames this share is dropped at the router's full ring has shown the router's own ceiling."""

TEXT = f"""
Source, router and far end are three namespaces. The router is the kernel's `ip_forward`; a kernel thread on
a core of its own polls its ingress, forwards, and counts at the far end. Each source floods it from the
other core, by turns in {ROUNDS} rounds; what is compared is the rate at which frames arrive behind the
router. A source slower than the router shows its own rate instead of the router's.
"""


def run(directory: Path) -> Section:
    """All sources into one router."""
    figures: list[Figure] = []
    with (
        hold_host("bench forwarding") as record,
        router_ground(record, cpu_layout(), directory) as ground,
    ):
        for frame_bytes in FRAME_BYTES:
            ours, others = vtax(fastest(ground, frame_bytes)), peers(own_context=True)
            rates = in_rounds(ground, (ours, *others), frame_bytes)
            name = f"{frame_bytes} B through the router: the best peer"
            figure = against(name, rates, ours, others, LEAST)
            best = next((peer for peer in others if figure.peers.startswith(f"{peer.name}:")), None)
            if figure.holds is False and best is not None:
                figure = replace(figure, note=_saturation(ground, best, frame_bytes) or figure.note)
            figures.append(figure)
    return Section("Forwarding ceiling", TEXT, tuple(figures))


def _saturation(ground: Ground, peer: Sender, frame_bytes: int) -> str | None:
    """What the drops at the router's ring say of a peer that is as fast: that it shows the router's own ceiling."""
    before = ground.source.interface_counters()[SOURCE_INTERFACE]
    with ground.counting(frame_bytes):
        peer.flood(ground, frame_bytes)
    after = ground.source.interface_counters()[SOURCE_INTERFACE]
    dropped, sent = (after[name] - before[name] for name in ("dropped_out", "sent"))
    share = dropped / max(dropped + sent, 1)
    if share < OVERFLOWS:
        return None
    return (
        f"{peer.name} is faster than the router, too: {share:.0%} of its frames were dropped at the router's "
        "full ring. Both rates are the router's own."
    )
