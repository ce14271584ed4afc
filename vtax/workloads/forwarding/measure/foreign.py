"""Frames of others on the links of a trial."""

from collections.abc import Iterator

from vtax.trial.frames.measured import Measured
from vtax.trial.verdict import Finding, graded
from vtax.workloads.forwarding.measure.hops import way_of

FOREIGN_SUSPECT, FOREIGN_INVALID = 0.001, 0.01
"""Frames on the links that the source did not send, against those that arrived."""
FOREIGN_LEAST = 20


def foreign_findings(measured: Measured) -> Iterator[Finding]:
    """Findings on what the source did not send, at the sink and where the links end and enter the UUT."""
    received = sum(stream.received for stream in measured.sink.streams)
    at_sink = sum(stream.refused.foreign for stream in measured.sink.streams)
    if at_sink > FOREIGN_LEAST:
        what = f"foreign traffic: {at_sink} frames that are no test frames reached the sink"
        yield from graded(at_sink / max(received, at_sink), FOREIGN_SUSPECT, FOREIGN_INVALID, what)
    way = way_of(measured)
    arrived = 0
    for stream in measured.source.streams:
        came = measured.received(way.entry(stream.stream))
        yield from _joined(came, measured.departed(stream), f"on stream {stream.stream}")
        arrived += came
    entered = sum(map(measured.received, way.uut_entries))
    yield from _joined(entered, arrived, "between the switch and the UUT")


def _joined(came: int, departed: int, where: str) -> Iterator[Finding]:
    """A finding where more came than departed."""
    extra = came - departed
    if extra > FOREIGN_LEAST:
        what = f"foreign traffic: {extra} frames that the source did not send entered {where}"
        yield from graded(extra / max(departed, extra), FOREIGN_SUSPECT, FOREIGN_INVALID, what)
