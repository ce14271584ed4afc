"""Whether a trial may be believed.

Invalid means that the instrument failed. What the unit under test does (drops, duplicates, reorders, holds back,
dies) is a result. Every threshold stands here, in vtax.campaign.limits and in docs/verdicts.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from vtax.campaign.limits import OFFERED_TOLERANCE, frames_sent, limit, offered_fps
from vtax.campaign.trial import Measured
from vtax.units import fps

WAIT_SUSPECT, WAIT_INVALID = 0.05, 0.10
"""Share of the run that the source's thread was ready but had no CPU."""
STEAL_SUSPECT, STEAL_INVALID = 0.02, 0.10
"""Share of the UUT's CPU time that the machine below took."""
FOREIGN_SHARE = 0.001
"""Frames at the sink that are no test frames, against received ones."""
FOREIGN_LEAST = 20
LATE_P99_NS = 1_000_000
"""Departures of a paced trial later than intended, 99th percentile."""
OWN_CONTEXT_NS_PER_FRAME = 50
"""Less CPU time than this a frame in the ingress thread, and the frames were handled elsewhere."""


class Verdict(StrEnum):
    """Suspect trials enter means and are counted; invalid ones never do, and are repeated."""

    VALID = "valid"
    SUSPECT = "suspect"
    INVALID = "invalid"


@dataclass(frozen=True)
class Judgement:
    """A verdict, why, and marks that are no blame: `generator-limited`, `link-limited`, `backpressured`."""

    verdict: Verdict
    reasons: tuple[str, ...]
    marks: tuple[str, ...]
    uut_context: str | None


def judge(measured: Measured, ceiling_fps: float, link_mbps: float | None) -> Judgement:
    """Judge a trial against the source's ceiling (all streams together) and the links' rate."""
    if measured.failure is not None:
        return Judgement(Verdict.INVALID, (f"instrument failed: {measured.failure}",), (), None)
    reasons = list(_reasons(measured))
    per_stream = ceiling_fps / measured.cell.workload.streams
    limits = (limit(measured, stream, per_stream, link_mbps) for stream in measured.source["streams"])
    marks = sorted({mark for mark in limits if mark is not None})
    verdict = max((severity for severity, _ in reasons), key=list(Verdict).index, default=Verdict.VALID)
    texts = [text for _, text in reasons]
    if measured.guest_died:
        texts.append("the guest died: what it lost by that is a result")
    return Judgement(verdict, tuple(texts), tuple(marks), uut_context(measured))


def uut_context(measured: Measured) -> str | None:
    """`own` when the UUT's ingress threads did the work, `sender` when it was done inside the sender's send().

    Told by where CPU time went, not by configuration: between the samples, against the frames sent meanwhile.
    """
    if measured.cpu is None:
        return None
    before, after = measured.cpu
    elapsed_s = after["at_s"] - before["at_s"]
    frames = frames_sent(measured) * elapsed_s / measured.window_s
    run_ns = sum(
        times["run_ns"] - before["threads"].get(name, {"run_ns": 0})["run_ns"]
        for name, times in after["threads"].items()
        if name.startswith("ingress ")
    )
    return "own" if run_ns >= OWN_CONTEXT_NS_PER_FRAME * frames else "sender"


def _reasons(measured: Measured) -> Iterator[tuple[Verdict, str]]:
    yield from _source_reasons(measured)
    yield from _sink_reasons(measured)
    yield from _link_reasons(measured)
    if measured.cpu is not None:
        before, after = measured.cpu
        steal = sum(after["steal_s"][cpu] - before["steal_s"][cpu] for cpu in before["steal_s"])
        share = steal / ((after["at_s"] - before["at_s"]) * max(1, len(before["steal_s"])))
        yield from _graded(
            share, STEAL_SUSPECT, STEAL_INVALID, "CPU time stolen from the UUT by the machine below"
        )


def _source_reasons(measured: Measured) -> Iterator[tuple[Verdict, str]]:
    source = measured.source
    if source.get("aborted"):
        yield Verdict.INVALID, "the source was aborted"
    if (thread := source.get("thread")) is not None:
        run_s = (source["end_ns"] - source["start_ns"]) / 1e9
        share = thread["run_delay_ns"] / 1e9 / run_s
        yield from _graded(share, WAIT_SUSPECT, WAIT_INVALID, "source kept waiting for its CPU")
    if _kept_up_unhindered(measured) and source["lag_ns"]["p99"] > LATE_P99_NS:
        yield Verdict.SUSPECT, f"departures were late: 99th percentile {source['lag_ns']['p99'] / 1e6:.1f} ms"


def _kept_up_unhindered(measured: Measured) -> bool:
    """Whether a paced source sent all that was intended and never had to wait for room on its link.

    A source that waits for room, as at the link's full rate, is late by the link's doing and not by its own.
    """
    work = measured.cell.workload
    if work.intended_mbps is None or any(measured.phase(s)["blocked"] for s in measured.source["streams"]):
        return False
    intended = work.streams * fps(work.intended_mbps, work.frame_bytes)
    return offered_fps(measured) >= (1 - OFFERED_TOLERANCE) * intended


def _link_reasons(measured: Measured) -> Iterator[tuple[Verdict, str]]:
    if not measured.cell.testbed.flow_control or measured.interfaces is None:
        return
    before, after = measured.interfaces
    links = [name for name in after if name.startswith("source/")]
    dropped = sum(after[name]["dropped"] - before[name]["dropped"] for name in links)
    if dropped:
        yield (
            Verdict.SUSPECT,
            f"no flow control on the source's links: {dropped} frames dropped at a full ring",
        )


def _sink_reasons(measured: Measured) -> Iterator[tuple[Verdict, str]]:
    received = 0
    sent = {stream["stream"]: measured.phase(stream)["frames_sent"] for stream in measured.source["streams"]}
    for stream in measured.sink["streams"]:
        number, refused = stream["stream"], stream["refused"]
        received += stream["received"]
        if not stream["attached"]:
            yield Verdict.INVALID, f"sink detached: stream {number}"
        if number in sent and stream["received"] > sent[number]:
            yield (
                Verdict.INVALID,
                f"more frames received than sent: {stream['received']} of {sent[number]}",
            )
        if refused["length"]:
            yield (
                Verdict.INVALID,
                f"frames of another length than was sent: {refused['length']} on stream {number}",
            )
        if refused["stream"]:
            yield Verdict.INVALID, f"frames of another stream: {refused['stream']} on stream {number}"
        if refused["trial"]:
            yield Verdict.SUSPECT, f"frames of another trial: {refused['trial']} on stream {number}"
    foreign = sum(stream["refused"]["foreign"] for stream in measured.sink["streams"])
    if foreign > max(FOREIGN_LEAST, FOREIGN_SHARE * received):
        yield Verdict.SUSPECT, f"foreign traffic: {foreign} frames that are no test frames reached the sink"
    if measured.sink.get("ended") == "limit":
        yield Verdict.SUSPECT, "frames still arrived when the drain's two seconds were over"


def _graded(share: float, suspect: float, invalid: float, what: str) -> Iterator[tuple[Verdict, str]]:
    if share > invalid:
        yield Verdict.INVALID, f"{what}: {100 * share:.1f}%"
    elif share > suspect:
        yield Verdict.SUSPECT, f"{what}: {100 * share:.1f}%"
