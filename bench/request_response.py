"""Round trips of vtax's requester and responder beside sockperf's ping-pong, over TCP and UDP.

Both tools block in their sockets, one message under way, answers as long as the messages; on the same CPUs over the
same veth pair, in turns. sockperf is asked for full round trips, and its mean leaves out its warm-up as ours does.
"""

import contextlib
import itertools
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.ends import End, Ends, made_ends
from bench.figure import Figure, Section, sample_text
from vtax.agent_api import Protocol, RequesterGoParams, RequesterOpenParams, ResponderOpenParams
from vtax.machine.cpu_latency import cpu_latency_held
from vtax.machine.pidfd import process_start, stop_process
from vtax.statistics.paired import paired_ratio

MESSAGE_BYTES = (64, 1400)
PROTOCOLS: tuple[Protocol, ...] = ("udp", "tcp")
ROUNDS = 36
SECONDS = 1
WARMUP_S = 0.4
"""As sockperf's."""
GREATEST_RATIO = 1.02
OUR_PORT, SOCKPERF_PORT = 5000, 11111
TIMEOUT_MS = 1000
READY_S = 10.0
TEXT = f"""
One message under way at a time, answered by as many bytes, over a veth pair between two namespaces, a CPU each.
Both tools block in their sockets and leave {WARMUP_S:g} s of warm-up out; {ROUNDS} rounds of {SECONDS} s by turns, each
tool first in every other round. Compared are means of the round trip.
"""


class PeerFailed(Exception):  # noqa: N818 - it states what the peer did
    """sockperf ended with an error or printed no round trip: its words."""


@dataclass(frozen=True)
class RoundTrip:
    """Of one round."""

    mean_ns: float
    p50_ns: float


def run(directory: Path) -> Section:
    """Measure every protocol and message size; logs go to `directory`."""
    # For both tools, as the requester does for itself.
    with made_ends(directory) as ends, cpu_latency_held():
        figures = tuple(
            compare(ends, protocol, message_bytes, directory)
            for protocol, message_bytes in itertools.product(PROTOCOLS, MESSAGE_BYTES)
        )
        shown = "\n".join(
            f"    {' '.join(command)}"
            for command in (server_command(ends, "tcp"), client_command(ends, "tcp", MESSAGE_BYTES[0]))
        )
    return Section("Request and response", f"{TEXT}\nThe peer, on the same CPUs:\n\n{shown}\n", figures)


def compare(
    ends: Ends, protocol: Protocol, message_bytes: int, directory: Path, rounds: int = ROUNDS
) -> Figure:
    """Measure both tools in turns, each first in every other round."""
    ours: list[RoundTrip] = []
    theirs: list[RoundTrip] = []
    with responder(ends, protocol, message_bytes), sockperf_server(ends, protocol, directory):
        client = _within(ends.near, client_command(ends, protocol, message_bytes))
        for number in range(rounds):
            ours_first = number % 2 == 0
            if ours_first:
                ours.append(our_round(ends.near))
            theirs.append(sockperf_round(client))
            if not ours_first:
                ours.append(our_round(ends.near))
    means = [trip.mean_ns for trip in ours], [trip.mean_ns for trip in theirs]
    ratio = paired_ratio(dict(enumerate(means[0])), dict(enumerate(means[1])))
    of_medians = paired_ratio(
        {number: trip.p50_ns for number, trip in enumerate(ours)},
        {number: trip.p50_ns for number, trip in enumerate(theirs)},
    )
    if ratio is None or ratio.high is None or of_medians is None:
        raise PeerFailed(f"sockperf measured round trips of no time: {means[1]}")
    return Figure(
        f"mean round trip, {protocol.upper()}, {message_bytes} bytes",
        f"{sample_text((each / 1e3 for each in means[0]), 'us', 2)}; medians' ratio {of_medians.mean:.3f}",
        f"sockperf: {sample_text((each / 1e3 for each in means[1]), 'us', 2)}",
        f"at most {GREATEST_RATIO:g} x",
        ratio.mean,
        ratio.low,
        ratio.high,
        ratio.high <= GREATEST_RATIO,
    )


def listening(end: End, protocol: Protocol) -> ResponderOpenParams:
    """What opens our responder at an end."""
    return ResponderOpenParams(
        protocol=protocol,
        response_bytes="equal",
        cpu=end.cpu,
        interface=end.interface,
        address=end.ip,
        port=OUR_PORT,
    )


@contextlib.contextmanager
def responder(ends: Ends, protocol: Protocol, message_bytes: int) -> Iterator[None]:
    """Our responder at the far end and the way to it from the near end."""
    near, far = ends.near, ends.far
    far.agent.api.responder_open(listening(far, protocol))
    params = RequesterOpenParams(
        protocol=protocol,
        port=OUR_PORT,
        response_bytes="equal",
        cpu=near.cpu,
        interface=near.interface,
        local_address=near.ip,
        remote_address=far.ip,
        message_bytes=message_bytes,
        timeout_ms=TIMEOUT_MS,
    )
    near.agent.api.requester_open(params)
    try:
        yield
    finally:
        near.agent.api.requester_close()
        far.agent.api.responder_close()


def our_round(near: End) -> RoundTrip:
    """One run of the requester. Raises RuntimeError for a transaction without an answer."""
    go = RequesterGoParams(trial=1, warmup_s=WARMUP_S, duration_s=SECONDS - WARMUP_S)
    near.agent.api.requester_go(go, timeout_s=SECONDS + 10)
    found = near.agent.api.requester_collect()
    mean_ns, p50_ns = found.latency.mean_ns, found.latency.p50_ns
    if found.failed or mean_ns is None or p50_ns is None:
        raise RuntimeError(f"{found.failed} requests went unanswered: {found.last_problem}")
    return RoundTrip(mean_ns, p50_ns)


@contextlib.contextmanager
def sockperf_server(ends: Ends, protocol: str, directory: Path) -> Iterator[None]:
    """A server that listens at the far end while the block lasts."""
    log = directory / "sockperf.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            _within(ends.far, server_command(ends, protocol)),
            stdout=output,
            stderr=subprocess.STDOUT,
            process_group=0,
        )
    ends.record.add_process(process.pid, "sockperf")
    try:
        _await_words(process, log, "to block on socket")
        yield
    finally:
        stop_process(process.pid, process_start(process.pid))
        process.wait()


def server_command(ends: Ends, protocol: str) -> list[str]:
    """sockperf's server, which blocks in its socket by default."""
    return ["sockperf", "server", *_where(ends.far, protocol)]


def client_command(ends: Ends, protocol: str, message_bytes: int) -> list[str]:
    """One round of sockperf: a message under way at a time, the whole round trip told."""
    load = ["-m", str(message_bytes), "-t", str(SECONDS), "--full-rtt"]
    return ["sockperf", "ping-pong", *_where(ends.far, protocol), *load]


def sockperf_round(client: list[str]) -> RoundTrip:
    """One run of sockperf. Raises PeerFailed."""
    done = subprocess.run(client, check=False, capture_output=True, text=True, timeout=SECONDS + 30)
    return parse_sockperf(done.stdout + done.stderr)


def parse_sockperf(told: str) -> RoundTrip:
    """Mean and median out of what `sockperf ping-pong --full-rtt` prints, microseconds in the text."""
    mean = re.search(r"Summary: Round trip is ([0-9.]+) usec", told)
    p50 = re.search(r"percentile 50\.000 = +([0-9.]+)", told)
    if mean is None or p50 is None:
        raise PeerFailed(f"sockperf printed no round trip: {told}")
    return RoundTrip(float(mean[1]) * 1e3, float(p50[1]) * 1e3)


def _where(far: End, protocol: str) -> list[str]:
    return ["-i", far.ip, "-p", str(SOCKPERF_PORT), *(["--tcp"] if protocol == "tcp" else [])]


def _within(end: End, command: list[str]) -> list[str]:
    return ["nsenter", f"--net={end.namespace.path}", "--", "taskset", "-c", str(end.cpu), *command]


def _await_words(process: "subprocess.Popen[bytes]", log: Path, words: str) -> None:
    for _ in range(round(READY_S / 0.01)):
        if words in log.read_text(errors="replace"):
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.01)
            break
    raise PeerFailed(f"sockperf never said {words!r}: {log.read_text(errors='replace')}")
