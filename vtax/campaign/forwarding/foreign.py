"""Frames of others on the links of a trial."""

from collections.abc import Iterator

from vtax.campaign.forwarding.trial import Measured
from vtax.campaign.verdict import Finding, graded

FOREIGN_SUSPECT, FOREIGN_INVALID = 0.001, 0.01
"""Frames on the links that the source did not send, against those that arrived."""
FOREIGN_LEAST = 20


def foreign_findings(measured: Measured) -> Iterator[Finding]:
    """Findings on what the source did not send, at the sink and where the links enter the UUT."""
    received = sum(stream["received"] for stream in measured.sink["streams"])
    at_sink = sum(stream["refused"]["foreign"] for stream in measured.sink["streams"])
    if at_sink > FOREIGN_LEAST:
        what = f"foreign traffic: {at_sink} frames that are no test frames reached the sink"
        yield from graded(at_sink / max(received, at_sink), FOREIGN_SUSPECT, FOREIGN_INVALID, what)
    for stream in measured.source["streams"]:
        extra = _entered(measured, stream["stream"]) - measured.departed(stream)
        if extra > FOREIGN_LEAST:
            what = f"foreign traffic: {extra} frames that the source did not send entered on stream {stream['stream']}"
            yield from graded(
                extra / max(measured.departed(stream), extra), FOREIGN_SUSPECT, FOREIGN_INVALID, what
            )


def _entered(measured: Measured, stream: int) -> int:
    """Frames that arrived at the UUT's end of a stream's link."""
    if measured.interfaces is None:
        return 0
    before, after = (sample[f"uut/in{stream}"]["received"] for sample in measured.interfaces)
    return int(after - before)
