"""A trial of frames as rows of the result's tables: what is its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from vtax.agent_api import SinkCost
from vtax.results import Row, TrialRecord
from vtax.results.schema.hosts import SINK, SinkTime
from vtax.testbed.accounts import Account
from vtax.trial.cpu.rows import cpu_row
from vtax.trial.frames.delay import delay_histograms, mean_delay_ns
from vtax.trial.frames.flow_rows import flow_row
from vtax.trial.frames.limits import frames_sent, offered_fps
from vtax.trial.frames.measured import GENERATOR, Measured, probe_interval
from vtax.trial.frames.source_time import FOREIGN, foreign_share, pauses_of, thread_shares
from vtax.trial.stage_rows import unattributed_row
from vtax.units import mbps
from vtax.workloads.forwarding.measure.context import uut_context
from vtax.workloads.forwarding.measure.counts import Hop
from vtax.workloads.forwarding.measure.hops import hops
from vtax.workloads.forwarding.measure.path import ForwardingFacts


@dataclass(frozen=True)
class Instrument:
    """What is known of sources and sinks before a trial."""

    ceiling_fps: float | None = None
    """Of the mechanism that sends."""
    sink_mode: str | None = None
    sink_fallback: str | None = None
    sink_costs: Mapping[str, SinkCost] = field(default_factory=dict)
    """What a frame costs the sink, by the sink's host."""

    @classmethod
    def of(cls, ceiling_fps: float, facts: ForwardingFacts | None) -> Self:
        """Return that of an open path whose source has this ceiling."""
        if facts is None:
            return cls(ceiling_fps)
        return cls(ceiling_fps, facts.sink_mode, facts.sink_fallback, facts.sink_costs)


def instrument_columns(measured: Measured, instrument: Instrument) -> Row:
    """Return the columns of `trials` that are known beforehand: of the streams, and of what sends and counts them."""
    return {
        "streams": measured.cell.streams,
        "mechanism": measured.mechanism,
        "ceiling_fps": instrument.ceiling_fps,
        "sink_mode": instrument.sink_mode,
        "sink_fallback": instrument.sink_fallback,
    }


def own_rows(measured: Measured, instrument: Instrument) -> TrialRecord:
    """Return the rows that a complete trial of other workloads does not have."""
    streams, ceiling_fps = measured.source.streams, instrument.ceiling_fps
    shared = measured.cell.testbed.is_shared
    return TrialRecord(
        trial={
            "ceiling_share": offered_fps(measured) / ceiling_fps if ceiling_fps else None,
            "duration_s": measured.window_s,
            **_pauses(measured),
        },
        flows=[flow_row(measured, stream, "victim", stream.stream if shared else 0) for stream in streams],
        cpu=_instrument_cpu(measured, instrument.sink_costs),
        hops=[_hop(measured, hop) for hop in hops(measured)],
        latency=[row for stream in streams for row in delay_histograms(measured, stream)],
        stages=_unattributed(measured),
        capture=measured.captured,
    )


def _pauses(measured: Measured) -> Row:
    """The columns of `trials` about the sources' pauses: of the thread that had most."""
    threads = (thread for source in measured.source.hosts.values() for thread in source.threads)
    found = [pauses for thread in threads if (pauses := pauses_of(thread)) is not None]
    return {
        "paused_share": max((pauses.share for pauses in found), default=None),
        "longest_pause_ns": max((pauses.longest_ns for pauses in found), default=None),
    }


def key_figure(measured: Measured) -> str:
    """Return what was received of what was offered."""
    lengths = measured.load.lengths
    offered = mbps(offered_fps(measured), lengths.mean)
    sent = frames_sent(measured)
    active = {stream.stream for stream in measured.source.streams}
    sunk = [stream for stream in measured.sink.streams if stream.stream in active]
    received = sum(stream.received for stream in sunk)
    mean_bytes = sum(stream.received_bytes for stream in sunk) / max(received, 1)
    lost = 100 * (sent - received) / sent if sent else 0.0
    return f"received {mbps(received / measured.window_s, mean_bytes):.1f} of {offered:.1f} Mbit/s, lost {lost:.2f}%"


def _unattributed(measured: Measured) -> Sequence[Row]:
    """What of the one-way delay is in no stage: each frame's is taken, none is the source's, and clocks are one."""
    streams = measured.source.streams
    if any(measured.clock_error_ns.get(stream.stream) for stream in streams):
        return []
    if measured.mechanism == GENERATOR or probe_interval(measured.load) > 1:
        return []
    total_ns, frames = 0.0, 0
    for stream in streams:
        count, mean_ns = measured.sink.stream(stream.stream).latency.count, mean_delay_ns(measured, stream)
        if mean_ns is None:
            return []
        total_ns, frames = total_ns + count * mean_ns, frames + count
    return unattributed_row(measured, total_ns / frames, lambda _: None)


def _instrument_cpu(measured: Measured, sink_costs: Mapping[str, SinkCost]) -> list[Row]:
    """Return what sinks and sources took of the CPUs, which no account of the UUT's host tells."""
    if measured.cpu is None:
        return []
    rows: list[Row] = []
    in_uut = measured.beside_uut if uut_context(measured) == "own" else frozenset[str]()
    for host, cost in sink_costs.items():
        percent = _sink_ns(measured, host, cost) / measured.window_s / 1e7
        component = SinkTime.IN_HOST_TOTAL if host in in_uut else SinkTime.ELSEWHERE
        rows.append(cpu_row(measured.trial, host, Account(SINK, component), percent))
    for host, source in measured.source.hosts.items():
        ran = [thread_shares(measured, host, thread) for thread in source.threads]
        if known := [shares for shares in ran if shares is not None]:
            percent, wait = (
                100 * sum(shares) for shares in zip(*((one.ran, one.kept_off) for one in known), strict=True)
            )
            rows.append(cpu_row(measured.trial, host, Account("source", "thread"), percent, wait=wait))
        had = [foreign_share(measured, host, thread) for thread in source.threads]
        if found := [share for share in had if share is not None]:
            rows.append(cpu_row(measured.trial, host, Account("source", FOREIGN), 100 * sum(found)))
    return rows


def _sink_ns(measured: Measured, host: str, cost: SinkCost) -> float:
    """Return the time that a host's sinks took for the frames of the active streams, beyond dropping them."""
    active = {stream.stream for stream in measured.source.streams}
    streams = [stream for stream in measured.sink.hosts[host].streams if stream.stream in active]
    received, probes = (
        sum(counts) for counts in ([s.received for s in streams], [s.latency.count for s in streams])
    )
    among = 0 if measured.probes_are_beside else probes
    # Of a flood no gaps are filed: only probes have their time taken.
    frame_ns = cost.counted_ns if measured.load.intended_fps is None else cost.timed_ns
    return (received - among) * frame_ns + probes * cost.probe_ns


def _hop(measured: Measured, hop: Hop) -> Row:
    return {
        "trial_id": measured.trial,
        "stream": hop.stream,
        "hop": hop.name,
        "received": hop.received,
        "forwarded": hop.forwarded,
        "dropped": hop.dropped,
        "held_back": hop.held_back,
        "reason": hop.reason if hop.dropped else None,
    }


def start_spread_ms(measured: Measured) -> float | None:
    """Return the time between the streams' first frames; None between sources, whose clocks are their own."""
    if len(measured.source.hosts) > 1:
        return None
    firsts = [stream.phase().first_ns for stream in measured.source.streams]
    known = [first for first in firsts if first]
    return (max(known) - min(known)) / 1e6 if known else 0.0
