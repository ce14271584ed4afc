"""One trial of bulk streams: listen, connect, go, warm up, measure, drain, collect."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pyroute2.netlink.exceptions import NetlinkError

from vtax.campaign.bulk.path import PORT, BulkPath, End
from vtax.campaign.observed import Observed
from vtax.campaign.window import SAMPLE_INSET_S, sleep_until
from vtax.machine.agent import AgentError, AgentGone
from vtax.scenario import Bulk, Cell

CONNECT_MS = 10_000
QUIET_MS = 200
QUIET_EMULATED_MS = 500
DRAIN_LIMIT_MS = 2000
DRAIN_LIMIT_EMULATED_MS = 10_000
"""What stands in the buffers when the senders stop; an emulated guest takes its time to take it."""

HEAD_START_S = 0.05
"""How far ahead the moment lies at which senders by the host's clock begin together."""
PEER_BUFFER_BYTES = 16 << 20
"""Datagrams of a tenth of a second at 1000 Mbit/s."""


@dataclass
class Flows:
    """The flows of one guest, as its sender and its receiver saw them."""

    run: dict[str, Any]
    """`sender.go`"""
    sent: list[dict[str, Any]]
    came: dict[str, Any]
    """`receiver.collect`"""
    series: list[list[int]]
    """Bytes in each 100 ms, of each flow."""


@dataclass
class Streamed(Observed):
    """Everything one trial brought home."""

    flows: list[Flows] = field(default_factory=list)
    """By the guest's number."""

    @property
    def work(self) -> Bulk:
        """What was asked of it."""
        return self.cell.bulk

    @property
    def start_spread_ms(self) -> float | None:
        """Between the first and the last guest's start, by the host's clock; None where one did not start.

        Of senders that are guests, what their peers received first tells.
        """
        if self.work.direction == "sending":
            starts = [flows.came["first_arrival_ns"] for flows in self.flows]
        else:
            starts = [flows.run["start_ns"] for flows in self.flows]
        if not starts or any(start is None for start in starts):
            return None
        return float(max(starts) - min(starts)) / 1e6


def measure(
    path: BulkPath, cell: Cell, trial: int, guests: dict[str, dict[str, Any]], *, emulated: bool
) -> Streamed:
    """Measure `cell` on a ready path whose guests stand so. Never raises for what agents do: that is in `failure`."""
    begun = time.monotonic()
    measured = Streamed(trial, cell, datetime.now(UTC))
    try:
        surroundings, owners = path.surroundings(), path.owners()
        _run(path, measured, emulated)
        measured.surroundings = (surroundings, path.surroundings())
        measured.owners = {kind: owners[kind] | named for kind, named in path.owners().items()}
        after = path.guest_states()
        measured.guests = {name: (before, after[name]) for name, before in guests.items()}
    except (AgentGone, AgentError, NetlinkError, OSError) as error:
        measured.failure = str(error) or type(error).__name__
    measured.wall_s = time.monotonic() - begun
    return measured


def _run(path: BulkPath, measured: Streamed, emulated: bool) -> None:
    work = measured.work
    sending = work.direction == "sending"
    pairs = [(guest, peer) if sending else (peer, guest) for guest, peer in path.ends]
    try:
        for _, receiver in pairs:
            receiver.call("receiver.open", _listening(receiver, measured))
        mtu = path.testbed.settings.mtu
        _at_once(
            [(sender, "sender.open", _connecting(sender, receiver, work, mtu)) for sender, receiver in pairs],
            CONNECT_MS / 1000 + 5,
        )
        path.cpu_meter.arm(work.warmup_s + SAMPLE_INSET_S, work.duration_s - 2 * SAMPLE_INSET_S)
        asked = {"trial": measured.trial, "warmup_s": work.warmup_s or None, "duration_s": work.duration_s}
        at_once = all(sender.shares_clock for sender, _ in pairs)
        went = time.monotonic() + (HEAD_START_S if at_once else 0.0)
        if at_once:
            asked["at_ns"] = round(went * 1e9)
        runs = _begin([(sender, "sender.go", asked) for sender, _ in pairs])
        if not at_once:
            went = time.monotonic()
        sleep_until(went + work.warmup_s + SAMPLE_INSET_S)
        first = path.testbed.uut.counters(path.uut_cpus)
        sleep_until(went + work.warmup_s + work.duration_s - SAMPLE_INSET_S)
        measured.cpu = (first, path.testbed.uut.counters(path.uut_cpus))
        told = [finish(work.warmup_s + work.duration_s + 10) for finish in runs]
        measured.flows = [
            _collect(sender, receiver, run, work, emulated)
            for (sender, receiver), run in zip(pairs, told, strict=True)
        ]
        measured.sampled = path.cpu_meter.read()
    finally:
        _close(pairs)


def _listening(receiver: End, measured: Streamed) -> dict[str, Any]:
    work = measured.work
    options = work.options
    if work.transport == "udp" and work.direction == "sending":
        # A peer is the instrument: it shall lose nothing.
        options["receive_buffer_bytes"] = PEER_BUFFER_BYTES
    return {
        **receiver.place,
        "protocol": work.transport,
        "address": receiver.address,
        "port": PORT,
        "flows": work.flows,
        "trial": measured.trial,
        "duration_s": work.duration_s,
        "options": options,
    }


def _connecting(sender: End, receiver: End, work: Bulk, mtu: int) -> dict[str, Any]:
    return {
        **sender.place,
        "protocol": work.transport,
        "local_address": sender.address,
        "remote_address": receiver.address,
        "port": PORT,
        "flows": work.flows,
        "message_bytes": work.piece_bytes(mtu),
        "intended_goodput_mbps": work.intended_goodput_mbps,
        "timeout_ms": CONNECT_MS,
        "options": work.options,
    }


def _collect(sender: End, receiver: End, run: dict[str, Any], work: Bulk, emulated: bool) -> Flows:
    sent = sender.call("sender.collect", {})["flows"]
    expected = [flow["messages"] for flow in sent] if work.transport == "udp" else None
    limit_ms = DRAIN_LIMIT_EMULATED_MS if emulated else DRAIN_LIMIT_MS
    drain = {
        "expected_messages": expected,
        "quiet_ms": QUIET_EMULATED_MS if emulated else QUIET_MS,
        "limit_ms": limit_ms,
    }
    came = receiver.call("receiver.collect", drain, timeout_s=limit_ms / 1000 + 10)
    series = [_series(receiver, flow) for flow in range(work.flows)]
    return Flows(run, sent, came, series)


def _series(receiver: End, flow: int) -> list[int]:
    steps: list[int] = []
    while True:
        told = receiver.call("receiver.series", {"flow": flow, "first": len(steps)})
        steps += told["bytes"]
        if len(steps) >= told["steps"]:
            return steps


def _begin(calls: list[tuple[End, str, dict[str, Any]]]) -> list[Callable[[float], Any]]:
    """Ask all at once; each of the results waits for its answer."""

    def waiting(end: End, ticket: str) -> Callable[[float], Any]:
        return lambda timeout_s: end.host.finish(ticket, timeout_s)

    return [waiting(end, end.host.begin(end.agent, method, params)) for end, method, params in calls]


def _at_once(calls: list[tuple[End, str, dict[str, Any]]], timeout_s: float) -> list[Any]:
    return [finish(timeout_s) for finish in _begin(calls)]


def _close(pairs: list[tuple[End, End]]) -> None:
    """Senders first: what they could not send is taken back. An end that never opened says so, and is passed over."""
    for role, number in (("sender", 0), ("receiver", 1)):
        for pair in pairs:
            try:
                pair[number].call(f"{role}.close", {})
            except (AgentError, AgentGone):
                continue
