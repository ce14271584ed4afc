"""What an uplink that streams share did to a trial: more than it takes waits and is lost in the switch before it."""

from vtax.campaign.forwarding.hops import hops
from vtax.campaign.forwarding.limits import HELD_BACK_FRAMES, LINK_TOLERANCE, offered_fps
from vtax.campaign.forwarding.trial import Measured
from vtax.units import fps

UPLINK_LIMITED = "uplink-limited"
UPLINK_LOSS = 0.005
"""More than this share lost in the switch, and no more than it behind, and the uplink set the streams' throughput."""


def uplink_is_full(measured: Measured, link_mbps: float | None) -> bool:
    """Whether all streams together fill an uplink that they share."""
    if link_mbps is None or not measured.cell.testbed.is_shared:
        return False
    return offered_fps(measured) >= LINK_TOLERANCE * fps(link_mbps, measured.work.lengths.mean)


def is_uplink_limited(measured: Measured) -> bool:
    """Whether the uplink brought less than was sent, and the UUT forwarded all that it brought."""
    if not measured.cell.testbed.is_shared:
        return False
    found = hops(measured)
    switch = [hop for hop in found if hop.name == "switch"]
    arrived, passed_on = (sum(getattr(hop, side) for hop in switch) for side in ("received", "forwarded"))
    lost = sum(hop.dropped for hop in switch)
    behind = sum(hop.dropped for hop in found if hop.name not in ("link", "switch"))
    held_back = max((hop.held_back for hop in switch), default=0) * HELD_BACK_FRAMES > passed_on
    return lost > UPLINK_LOSS * arrived and behind <= UPLINK_LOSS * passed_on and not held_back
