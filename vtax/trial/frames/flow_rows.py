"""A stream of frames as a row of `flows`."""

from vtax.results import Row
from vtax.trial.frames.answers import StreamSent
from vtax.trial.frames.delay import delay_columns
from vtax.trial.frames.measured import Measured
from vtax.trial.frames.source_time import stream_shares, waited_share
from vtax.trial.trial_rows import Role
from vtax.units import goodput_mbps, mbps


def offered_mbps(measured: Measured, stream: StreamSent) -> float:
    """Return what a source sent of one stream, at layer 1."""
    sent = stream.phase().frames_sent
    return mbps(sent / measured.window_s, measured.load.lengths.bytes_of(sent) / max(sent, 1))


def flow_row(measured: Measured, stream: StreamSent, role: Role, guest: int) -> Row:
    """A row of `flows`, by what source and sink say of one stream."""
    load, sink = measured.load, measured.sink.stream(stream.stream)
    phase, gap = stream.phase(), measured.times[stream.stream].gap
    thread = stream_shares(measured, stream)
    sent, received = phase.frames_sent, sink.received
    order, loss = sink.reordering, sink.loss
    arrived = received / measured.window_s
    received_bytes = sink.received_bytes / max(received, 1)
    return {
        "trial_id": measured.trial,
        "role": role,
        "guest": guest,
        "stream": stream.stream,
        "intended_mbps": load.intended_mbps,
        "offered_mbps": offered_mbps(measured, stream),
        "received_mbps": mbps(arrived, received_bytes),
        "intended_fps": load.intended_fps,
        "offered_fps": sent / measured.window_s,
        "received_fps": arrived,
        "goodput_mbps": goodput_mbps(arrived, received_bytes, load.frames.encapsulation.header_bytes),
        "frames_sent": sent,
        "frames_received": received,
        "frames_lost": sent - received,
        "frames_duplicated": sink.duplicated,
        "frames_reordered": sink.reordered,
        "frames_displaced": order.displaced,
        "reordering_extent_mean_frames": order.extent_mean,
        "reordering_extent_max_frames": order.extent_max,
        "reordering_extents_cut": order.extents_cut,
        "loss_periods": loss.periods,
        "longest_loss_frames": loss.longest,
        "loss_ratio": (sent - received) / sent if sent else None,
        "send_errors": phase.send_errors,
        "blocked": phase.blocked,
        "waited_share": waited_share(stream),
        "source_cpus": " ".join(map(str, stream.cpus)),
        "source_cpu_share": None if thread is None else thread.ran,
        "frames_unsent": phase.unsent,
        "burst_frames": phase.longest_burst,
        **delay_columns(measured, stream),
        "gap_p50_ns": gap.p50_ns,
        "gap_p99_ns": gap.p99_ns,
        "gap_max_ns": gap.max_ns,
        "duration_s": measured.window_s,
    }
