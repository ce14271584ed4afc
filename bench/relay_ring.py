"""The relay ring of one hop beside the same loop written in C with blocking sockets, and what a time stamp costs."""

import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path

from bench.ends import End, made_ends
from bench.figure import Figure, Section, sample_text
from vtax.agent_api import (
    RelayGoParams,
    RelayLoad,
    RelayLoadFields,
    RelayOpenParams,
    RelayParams,
    RelayPath,
    RelaySamplesParams,
)
from vtax.machine.cpu_latency import cpu_latency_held
from vtax.statistics import mean_interval
from vtax.statistics.paired import paired_ratio

SOURCE = Path(__file__).with_name("ring.c")
ROUNDS = 300
ITERATIONS = 2_500
"""A run; many short ones, since a process is faster or slower as a whole by where its memory lies."""
OUR_PORT, THEIR_PORT = 5001, 5002
GREATEST_RATIO = 1.02
STAMP_NS = 50
TEXT = f"""
A process sends itself a message of 4 bytes over a fresh TCP connection, {ITERATIONS} times a run, on one CPU of a
namespace of its own; timed is from before the connect to the message's last byte (matthews2009, section 2.4). The
peer is `bench/ring.c`, with the same socket calls. {ROUNDS} runs of each by turns, each first in every other round. A
time stamp costs what the same loop takes with nothing in it.
"""


def run(directory: Path) -> Section:
    """Measure both in turns; the peer is compiled into `directory`."""
    peer = directory / "ring"
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", str(peer), str(SOURCE)], check=True)
    with made_ends(directory) as ends, cpu_latency_held():
        figures = (against_c(ends.near, peer), stamp(ends.near))
    return Section("Relay ring", TEXT, figures)


def against_c(end: End, peer: Path, rounds: int = ROUNDS) -> Figure:
    """Mean rounds of one hop, ours over the peer's."""
    ours: dict[int, float] = {}
    theirs: dict[int, float] = {}
    for number in range(-1, rounds):
        turns: list[tuple[dict[int, float], Callable[[], float]]] = [
            (ours, lambda: our_mean_ns(end, network())),
            (theirs, lambda: peer_mean_ns(end, peer)),
        ]
        for means, measure in turns if number % 2 else turns[::-1]:
            means[number] = measure()
    # In the round before the first, programs are read from the disk.
    del ours[-1], theirs[-1]
    ratio = paired_ratio(ours, theirs)
    if ratio is None or ratio.high is None:
        raise ArithmeticError(f"the peer measured rounds of no time: {theirs}")
    return Figure(
        "mean round, one hop, fresh TCP connections",
        sample_text((each / 1e3 for each in ours.values()), "us", 2),
        f"C: {sample_text((each / 1e3 for each in theirs.values()), 'us', 2)}",
        f"at most {GREATEST_RATIO:g} x",
        ratio.mean,
        ratio.low,
        ratio.high,
        ratio.high <= GREATEST_RATIO,
    )


def stamp(end: End) -> Figure:
    """What lies between two looks at the clock with nothing in between."""
    found = [our_mean_ns(end, "nothing") for _ in range(ROUNDS)]
    interval = mean_interval(found)
    return Figure(
        "time stamp",
        sample_text(found, "ns", 1),
        "",
        f"at most {STAMP_NS} ns",
        interval.mean,
        interval.low,
        interval.high,
        interval.high is not None and interval.high <= STAMP_NS,
    )


def network() -> RelayLoadFields:
    """One hop, from the relay to itself."""
    path = RelayPath(
        protocol="tcp",
        connection="fresh",
        timeout_ms=2000,
        interface="lo",
        address="127.0.0.1",
        port=OUR_PORT,
        next_address="127.0.0.1",
        next_port=OUR_PORT,
    )
    return RelayLoadFields(network=path)


def our_mean_ns(end: End, load: RelayLoad) -> float:
    """A run of our master. Raises RuntimeError where a message did not come back."""
    relay = RelayParams(mode="master", message_bytes=4, load=load)
    agent = end.agent.api
    agent.relay_open(RelayOpenParams(relays=[relay]))
    agent.relay_go(RelayGoParams(trial=1, iterations=ITERATIONS), timeout_s=60)
    told = agent.relay_collect()
    if told.failed:
        raise RuntimeError(f"{told.failed} messages did not come back: {told.last_problem}")
    ns: list[int] = []
    while len(ns) < ITERATIONS:
        ns += agent.relay_samples(RelaySamplesParams(first=len(ns))).ns
    agent.relay_close()
    return statistics.fmean(ns)


def peer_mean_ns(end: End, peer: Path) -> float:
    """A run of the peer's."""
    within = ["nsenter", f"--net={end.namespace.path}", "--", "taskset", "-c", str(end.cpu)]
    command = [*within, str(peer), str(THEIR_PORT), str(ITERATIONS)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    return float(done.stdout)
