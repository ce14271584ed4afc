"""What an uplink that streams share did to a trial: more than it takes waits and is lost in the switch before it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from vtax.trial.frames.limits import HELD_BACK_FRAMES, LINK_TOLERANCE
from vtax.trial.frames.measured import Measured
from vtax.trial.verdict import Finding, Verdict
from vtax.units import fps
from vtax.workloads.forwarding.measure.hops import hops

UPLINK_LOSS = 0.005
"""More than this share lost in the switch, and no more than it behind, and the uplink set the streams' throughput."""


@dataclass(frozen=True)
class Uplink:
    """The switch's end of a shared uplink in a trial, all streams together."""

    overflowed: bool
    """More was lost in the switch than a carried load may lose."""
    is_full: bool
    """It brought as much as its rate allows."""
    held_back: bool
    """The UUT stopped it for much of the run (flow control)."""
    lossless_behind: bool

    @classmethod
    def of(cls, measured: Measured) -> Self | None:
        """That of a trial; None where streams share no uplink, or one without a rate."""
        link_mbps = measured.cell.testbed.link_mbps
        if link_mbps is None or not measured.cell.testbed.is_shared:
            return None
        found = hops(measured)
        switch = [hop for hop in found if hop.name == "switch"]
        arrived, passed_on = (sum(hop.received for hop in switch), sum(hop.forwarded for hop in switch))
        phases = measured.source.streams[0].phases
        sending_s = sum(phase.end_ns - phase.start_ns for phase in phases) / 1e9
        behind = sum(hop.dropped for hop in found if hop.name not in ("link", "switch"))
        return cls(
            overflowed=sum(hop.dropped for hop in switch) > UPLINK_LOSS * arrived,
            is_full=passed_on >= LINK_TOLERANCE * fps(link_mbps, measured.load.lengths.mean) * sending_s,
            held_back=max((hop.held_back for hop in switch), default=0) * HELD_BACK_FRAMES > passed_on,
            lossless_behind=behind <= UPLINK_LOSS * passed_on,
        )

    @property
    def limited(self) -> bool:
        """Whether it brought less than was sent, and the UUT forwarded all that it brought."""
        return self.overflowed and self.is_full and self.lossless_behind and not self.held_back


def uplink_findings(measured: Measured) -> Iterator[Finding]:
    """Frames that the switch lost though neither the uplink nor the UUT was too slow: it lacked CPU time."""
    uplink = Uplink.of(measured)
    if uplink is not None and uplink.overflowed and not uplink.is_full and not uplink.held_back:
        yield (
            Verdict.SUSPECT,
            "the switch lost frames below the uplink's rate, and the UUT did not hold it back",
        )
