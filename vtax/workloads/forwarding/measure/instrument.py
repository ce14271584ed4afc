"""What sources, sinks and links say against a trial."""

from collections.abc import Iterator

from vtax.agent_api import SourceRunAnswer, SourceThread
from vtax.trial.frames.limits import OFFERED_TOLERANCE, offered_fps
from vtax.trial.frames.measured import Measured
from vtax.trial.frames.source_time import PauseShare, most_beside, pauses_of, thread_shares
from vtax.trial.verdict import Finding, Verdict, graded
from vtax.workloads.forwarding.measure.drops import Drops, lost_events

WAIT_SUSPECT, WAIT_INVALID = 0.05, 0.10
"""Share of the window that the source's thread was ready but had no CPU."""
WAITED = "kept waiting for its CPU"
AWAY = "was away"
AWAY_SUSPECT, AWAY_INVALID = 0.05, 0.10
"""Share of the time that a paced source watched its CPU in which it was not on it, though the kernel let it run."""
LATE = "departures were late"
LATE_P99_NS = 1_000_000
"""Departures of a paced trial later than intended, 99th percentile."""


def instrument_findings(measured: Measured) -> Iterator[Finding]:
    """Findings on a complete trial's sources, sinks and links."""
    for number, (host, source) in enumerate(measured.source.hosts.items()):
        # What neighbours' frames take of the first one's CPU is the instrument's own, and lowers the ceiling.
        yield from _source(measured, host, source, 0 if number else measured.beside.source_share)
    yield from _sinks(measured)
    yield from _links(measured)
    yield from _meter(measured)


def sink_is_lost(measured: Measured) -> bool:
    """Whether a stream's sink is no longer in place; no later trial would be counted either."""
    return not all(stream.attached for stream in measured.sink.streams)


def _source(measured: Measured, host: str, source: SourceRunAnswer, beside: float) -> Iterator[Finding]:
    """Findings on one source, whose first CPU had to serve others for a share of the window."""
    if source.aborted:
        yield Verdict.INVALID, f"the {host} was aborted"
    for number, thread in enumerate(source.threads):
        cpu = "" if len(source.threads) == 1 else f" {thread.cpu}"
        yield from _thread(measured, host, thread, cpu, 0 if number else beside)


def _thread(
    measured: Measured, host: str, thread: SourceThread, cpu: str, beside: float
) -> Iterator[Finding]:
    """Findings on one of a source's threads, with the number of its CPU where there are several."""
    meanwhile = _meanwhile(measured, host, thread, cpu)
    if (shares := thread_shares(measured, host, thread)) is not None:
        what = f"{host} {WAITED}{cpu}{meanwhile}"
        yield from graded(shares.kept_off - beside, WAIT_SUSPECT, WAIT_INVALID, what)
    if (pauses := pauses_of(thread)) is not None:
        kept_off_ns = 1e9 * measured.window_s * shares.kept_off if shares is not None else 0.0
        away = max(0.0, pauses.paused_ns - kept_off_ns) / pauses.watched_ns
        yield from graded(
            away, AWAY_SUSPECT, AWAY_INVALID, f"the {host}'s CPU{cpu} {AWAY}: {_longest(pauses)}"
        )
    if _kept_up_unhindered(measured) and thread.lag_ns is not None and thread.lag_ns.p99 > LATE_P99_NS:
        yield (
            Verdict.SUSPECT,
            f"{LATE}{cpu and f' on CPU{cpu}'}{meanwhile}: 99th percentile {thread.lag_ns.p99 / 1e6:.1f} ms",
        )


def _longest(pauses: PauseShare) -> str:
    return f"for up to {pauses.longest_ns / 1e6:.1f} ms at a time; of the time that it watched"


def _meanwhile(measured: Measured, host: str, thread: SourceThread, cpu: str) -> str:
    """Who had the CPU of a source's thread for most of the time that it was not on it; nothing where nobody had."""
    shares, most = thread_shares(measured, host, thread), most_beside(thread)
    if shares is None or most is None:
        return ""
    if most.run_ns < LATE_P99_NS or most.run_ns / 1e9 < (1 - shares.ran) * measured.window_s / 2:
        return ""
    return (
        f" while {most.comm} (process {most.pid}) ran on the {host}'s CPU{cpu} for {most.run_ns / 1e6:.1f} ms"
    )


def _kept_up_unhindered(measured: Measured) -> bool:
    """Whether paced sources sent all that was intended and never had to wait for room on their links.

    A source that waits for room, as at the link's full rate, is late by the link's doing and not by its own.
    """
    load = measured.load
    if load.intended_fps is None or any(stream.phase().blocked for stream in measured.source.streams):
        return False
    return offered_fps(measured) >= (1 - OFFERED_TOLERANCE) * measured.cell.streams * load.intended_fps


def _sinks(measured: Measured) -> Iterator[Finding]:
    sent = {stream.stream: stream.phase().frames_sent for stream in measured.source.streams}
    for stream in measured.sink.streams:
        number, refused = stream.stream, stream.refused
        if not stream.attached:
            yield Verdict.INVALID, f"sink detached: its program is no longer in place on stream {number}"
        if number in sent and stream.received > sent[number]:
            yield Verdict.INVALID, f"more frames received than sent: {stream.received} of {sent[number]}"
        if refused.length:
            yield (
                Verdict.INVALID,
                f"frames of another length than was sent: {refused.length} on stream {number}",
            )
        if refused.stream:
            yield Verdict.INVALID, f"frames of another stream: {refused.stream} on stream {number}"
        if refused.trial:
            yield Verdict.SUSPECT, f"frames of another trial: {refused.trial} on stream {number}"
    if any(sink.ended == "limit" for sink in measured.sink.hosts.values()):
        yield Verdict.SUSPECT, "frames still arrived when the drain's two seconds were over"


def _links(measured: Measured) -> Iterator[Finding]:
    if not measured.cell.testbed.flow_control or measured.interfaces is None:
        return
    before, after = measured.interfaces
    links = [name for name in after if name.partition("/")[0] in measured.source.hosts]
    drops = Drops.of(measured)
    dropped = 0
    for name in links:
        out = after[name]["dropped_out"] - before[name]["dropped_out"]
        queue = after[name]["dropped_queue"] - before[name]["dropped_queue"]
        dropped += out - drops.by_no_queue(name, queue)
    if dropped > 0:
        yield (
            Verdict.SUSPECT,
            f"no flow control on the source's links: {dropped} frames dropped at a full ring",
        )


def _meter(measured: Measured) -> Iterator[Finding]:
    if lost := lost_events(measured):
        yield Verdict.SUSPECT, f"drop events were lost: {lost} dropped frames have no reason"
