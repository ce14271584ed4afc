"""A trial as rows of the result's tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vtax.agent_api import CollectedStream
from vtax.campaign.cpu_rows import counted_rows, cpu_row, ledger_rows
from vtax.campaign.forwarding.answers import StreamSent
from vtax.campaign.forwarding.counts import Hop
from vtax.campaign.forwarding.delay import delay_columns, delay_histograms, mean_delay_ns
from vtax.campaign.forwarding.hops import hops
from vtax.campaign.forwarding.limits import frames_sent, offered_fps
from vtax.campaign.forwarding.source_time import thread_shares, waited_share
from vtax.campaign.forwarding.trial import Measured, probe_interval
from vtax.campaign.stage_rows import packet_rows, stage_rows, unattributed_row
from vtax.campaign.trial_rows import Role, traced_columns
from vtax.campaign.verdict import Judgement
from vtax.results import Row, TrialRecord
from vtax.units import goodput_mbps, mbps


@dataclass(frozen=True)
class Instrument:
    """What is known of sources and sinks before a trial."""

    ceiling_fps: float | None = None
    """Of the mechanism that sends."""
    sink_mode: str | None = None
    sink_fallback: str | None = None
    sink_cost_ns: Mapping[str, float] = field(default_factory=dict)
    """What counting a frame costs, by the sink's host."""


def record(
    measured: Measured, judgement: Judgement, place: Row, instrument: Instrument, machine: str
) -> TrialRecord:
    """All rows of a trial. `place` holds the columns of `trials` that place it (block, repetition ...)."""
    work = measured.work
    complete = measured.failure is None
    window_s = measured.window_s if complete else None
    ceiling_fps = instrument.ceiling_fps
    trial: Row = {
        **place,
        "ceiling_fps": ceiling_fps,
        "sink_mode": instrument.sink_mode,
        "sink_fallback": instrument.sink_fallback,
        **measured.cell.factors,
        "trial_id": measured.trial,
        "cell": measured.cell.key,
        "platform": measured.cell.platform,
        "streams": measured.cell.streams,
        "guests": measured.cell.guests,
        "neighbour_maximum_mbps": measured.beside.maximum_mbps,
        "frame_bytes": None if work.mix else work.frame_bytes,
        "frame_mix": work.mix,
        "intended_mbps": work.intended_mbps,
        "uut_context": judgement.uut_context,
        "mechanism": measured.mechanism,
        "ceiling_share": offered_fps(measured) / ceiling_fps if complete and ceiling_fps else None,
        "start_spread_ms": _start_spread_ms(measured) if complete else None,
        "warmup_s": work.warmup_s,
        "duration_s": window_s,
        "wall_s": measured.wall_s,
        "overhead_s": measured.wall_s - work.warmup_s - work.duration_s - measured.drain_s
        if complete
        else None,
        "verdict": str(judgement.verdict),
        **traced_columns(work, judgement),
        "reasons": list(judgement.reasons),
        "started_at": measured.started_at,
    }
    if not complete:
        return TrialRecord(trial=trial)
    shared = measured.cell.testbed.is_shared
    flows = [
        flow_row(measured, stream, "victim", stream.stream if shared else 0)
        for stream in measured.source.streams
    ]
    return TrialRecord(
        trial=trial,
        flows=[*flows, *measured.beside.flows],
        cpu=[
            *_cpu(measured, instrument.sink_cost_ns),
            *ledger_rows(measured, machine),
        ],
        hops=[_hop(measured, hop) for hop in hops(measured)],
        latency=[row for stream in measured.source.streams for row in delay_histograms(measured, stream)],
        stages=[*stage_rows(measured), *_unattributed(measured)],
        packets=packet_rows(measured),
        capture=measured.captured,
    )


def headline(measured: Measured) -> str:
    """A trial's last number for whoever watches."""
    if measured.failure is not None:
        return measured.failure.splitlines()[0]
    lengths = measured.work.lengths
    offered = mbps(offered_fps(measured), lengths.mean)
    sent = frames_sent(measured)
    active = {stream.stream for stream in measured.source.streams}
    sunk = [stream for stream in measured.sink.streams if stream.stream in active]
    received = sum(stream.received for stream in sunk)
    mean_bytes = sum(stream.received_bytes for stream in sunk) / max(received, 1)
    lost = 100 * (sent - received) / sent if sent else 0.0
    return f"received {mbps(received / measured.window_s, mean_bytes):.1f} of {offered:.1f} Mbit/s, lost {lost:.2f}%"


def offered_mbps(measured: Measured, stream: StreamSent) -> float:
    """Return what a source sent of one stream, at layer 1."""
    sent = stream.phase().frames_sent
    return mbps(sent / measured.window_s, measured.work.lengths.bytes_of(sent) / max(sent, 1))


def flow_row(measured: Measured, stream: StreamSent, role: Role, guest: int) -> Row:
    """A row of `flows`, by what source and sink say of one stream."""
    work, sink = measured.work, measured.sink.stream(stream.stream)
    phase, gap = stream.phase(), measured.times[stream.stream].gap
    thread = thread_shares(measured, stream.host)
    sent, received = phase.frames_sent, sink.received
    arrived = received / measured.window_s
    received_bytes = sink.received_bytes / max(received, 1)
    return {
        "trial_id": measured.trial,
        "role": role,
        "guest": guest,
        "stream": stream.stream,
        "intended_mbps": work.intended_mbps,
        "offered_mbps": offered_mbps(measured, stream),
        "received_mbps": mbps(arrived, received_bytes),
        "intended_fps": work.intended_fps,
        "offered_fps": sent / measured.window_s,
        "received_fps": arrived,
        "goodput_mbps": goodput_mbps(arrived, received_bytes, work.encapsulation.header_bytes),
        "frames_sent": sent,
        "frames_received": received,
        "frames_lost": sent - received,
        "frames_duplicated": sink.duplicated,
        "frames_reordered": sink.reordered,
        **_order_columns(sent, sink),
        "loss_ratio": (sent - received) / sent if sent else None,
        "send_errors": phase.send_errors,
        "blocked": phase.blocked,
        "waited_share": waited_share(stream),
        "source_cpu_share": None if thread is None else thread.ran,
        "burst_frames": phase.longest_burst,
        **delay_columns(measured, stream),
        "gap_p50_ns": gap.p50_ns,
        "gap_p99_ns": gap.p99_ns,
        "gap_max_ns": gap.max_ns,
        "duration_s": measured.window_s,
    }


def _unattributed(measured: Measured) -> Sequence[Row]:
    """What of the one-way delay is in no stage: each frame's is taken, none is the source's, and clocks are one."""
    streams = measured.source.streams
    if any(measured.clock_error_ns.get(stream.stream) for stream in streams):
        return []
    if probe_interval(measured.work) > 1:
        return []
    total_ns, frames = 0.0, 0
    for stream in streams:
        count, mean_ns = measured.sink.stream(stream.stream).latency.count, mean_delay_ns(measured, stream)
        if mean_ns is None:
            return []
        total_ns, frames = total_ns + count * mean_ns, frames + count
    return unattributed_row(measured, total_ns / frames, lambda _: None)


def _order_columns(sent: int, sink: CollectedStream) -> Row:
    """How far frames were displaced, and how loss is spread. What no later frame betrays is the last period."""
    reordering, loss = sink.reordering, sink.loss
    behind = sent - sink.next_expected
    return {
        "frames_displaced": reordering.displaced,
        "reordering_extent_mean_frames": reordering.extent_mean,
        "reordering_extent_max_frames": reordering.extent_max,
        "reordering_extents_cut": reordering.extents_cut,
        "loss_periods": loss.periods + (behind > 0),
        "longest_loss_frames": None if loss.longest is None else max(loss.longest, behind),
    }


def _cpu(measured: Measured, sink_cost_ns: Mapping[str, float]) -> list[Row]:
    rows = counted_rows(measured)
    if not rows:
        return rows
    active = {stream.stream for stream in measured.source.streams}
    for host, cost_ns in sink_cost_ns.items():
        received = sum(
            stream.received for stream in measured.sink.hosts[host].streams if stream.stream in active
        )
        percent = received / measured.window_s * cost_ns / 1e7
        rows.append(cpu_row(measured.trial, host, "sink", "calibrated", percent))
    for host in measured.source.hosts:
        if (thread := thread_shares(measured, host)) is not None:
            percent, wait = 100 * thread.ran, 100 * thread.kept_off
            rows.append(cpu_row(measured.trial, host, "source", "thread", percent, wait=wait))
    return rows


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


def _start_spread_ms(measured: Measured) -> float | None:
    """None between sources, whose clocks are their own."""
    if len(measured.source.hosts) > 1:
        return None
    firsts = [stream.phase().first_ns for stream in measured.source.streams]
    known = [first for first in firsts if first]
    return (max(known) - min(known)) / 1e6 if known else 0.0
