"""Forwarding: what rate of a router each source is able to show."""

import statistics
from dataclasses import dataclass, replace
from pathlib import Path

from bench.figure import Figure, Section
from bench.ground import Ground, router_ground
from bench.rounds import ROUNDS, against, in_rounds
from bench.senders import SEND_S, Sender, fastest, peers, vtax
from vtax.testbed.accounts import INGRESS
from vtax.testbed.host import Host
from vtax.testbed.host_session import hold_host
from vtax.testbed.layout import cpu_layout

FRAME_BYTES = (64, 1500)
LEAST = 1.25

TEXT = f"""
Source, router and far end are three namespaces. The router is the kernel's `ip_forward`; a kernel thread on
a core of its own polls its ingress, forwards, and counts at the far end. Each source floods it from the
other core, by turns in {ROUNDS} rounds; what is compared is the rate at which frames arrive behind the
router. A source slower than the router shows its own rate instead of the router's: then the router's thread is not
busy all the time.
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
            router = _router(ground, ours, frame_bytes)
            figure = replace(figure, ours=f"{figure.ours}; the router's thread is busy {router.busy:.0%}")
            best = next((peer for peer in others if figure.peers.startswith(f"{peer.name}:")), None)
            if figure.holds is False and best is not None:
                reached_fps = statistics.median(rates.fps[best.name].values())
                note = told_of_ceiling(router.frame_ns, best.name, reached_fps)
                figure = replace(figure, note=note or figure.note)
            figures.append(figure)
    return Section("Forwarding ceiling", TEXT, tuple(figures))


def told_of_ceiling(frame_ns: float, peer: str, peer_fps: float) -> str | None:
    """What a miss comes from, if the router's own ceiling leaves no room: its thread takes `frame_ns` for a frame."""
    ceiling_fps = 1e9 / frame_ns
    if ceiling_fps >= LEAST * peer_fps:
        return None
    return (
        f"The router's thread takes {frame_ns:.0f} ns of its CPU for a frame, so that it forwards "
        f"{ceiling_fps / 1e6:.2f} Mpps at the most. {peer} shows {peer_fps / ceiling_fps:.0%} of that: nothing could "
        f"show {LEAST:g} times as much."
    )


@dataclass(frozen=True)
class Router:
    """What a router's thread did while a source flooded it: its CPU time a frame, and as a share of the time."""

    frame_ns: float
    busy: float


def _router(ground: Ground, sender: Sender, frame_bytes: int) -> Router:
    """Flood the router some times; returns medians."""
    assert ground.router is not None  # noqa: S101 - a ground with a router in between
    frame_ns, busy = [], []
    for _ in range(ROUNDS):
        before, received = router_thread_ns(ground.router), _received(ground.router)
        with ground.counting(frame_bytes):
            sender.flood(ground, frame_bytes)
        spent_ns = router_thread_ns(ground.router) - before
        frame_ns.append(spent_ns / (_received(ground.router) - received))
        busy.append(min(1.0, spent_ns / (SEND_S * 1e9)))
    return Router(statistics.median(frame_ns), statistics.median(busy))


def router_thread_ns(router: Host) -> int:
    """Return the CPU time that the router's ingress thread has had."""
    threads = router.counters([])["threads"]
    return sum(times["run_ns"] for times in threads if times["account"].component == INGRESS)


def _received(router: Host) -> int:
    return int(router.interface_counters()["in0"]["received"])
