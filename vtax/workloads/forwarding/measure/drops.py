"""What the kernel itself says of the frames it dropped in a trial: where, and why (the agent's `drops.*`)."""

from collections import Counter
from dataclasses import dataclass

from vtax.testbed.guest import GUEST
from vtax.trial.frames.measured import Measured
from vtax.trial.guest import called

QUEUE = "QDISC_DROP"
"""What the kernel calls a drop by a queueing discipline, one that is just being replaced included."""

Place = tuple[str, bool]
"""An interface (host/name), and whether the frame had been received by it; otherwise it was on its way out of it, or
into the ring of it."""


@dataclass(frozen=True)
class Drops:
    """Frames that the kernel dropped, by place and reason."""

    frames: Counter[tuple[Place, str]]
    untold: str | None = None
    """Why the kernel says nothing of them; None where it does."""

    @classmethod
    def of(cls, measured: Measured) -> "Drops":
        """Those of a trial, all its phases."""
        if measured.drops is None:
            return cls(Counter(), measured.no_drop_reasons)
        before, after = (
            Counter(
                {((place.interface, place.arrived), place.reason): place.frames for place in reading.places}
            )
            for reading in measured.drops
        )
        return cls(after - before)

    def by_no_queue(self, interface: str, by_queue: int) -> int:
        """Frames dropped at an interface while its queue was just being replaced: all but those `by_queue`.

        Its queue does not count them. A veth does, among those that the far ring had no room for.
        """
        return max(0, self.frames[(interface, False), QUEUE] - by_queue)

    def reason(self, dropped: int, places: tuple[Place, ...]) -> str | None:
        """Why a hop dropped so many frames: of the reasons at its places, the one whose frames come closest."""
        if self.untold is not None:
            return f"unknown: {self.untold}"
        known = [(abs(frames - dropped), key) for key, frames in self.frames.items() if key[0] in places]
        if not known:
            return None
        _, ((interface, _), reason) = min(known)
        host, _, name = interface.partition("/")
        whose = f"{called(host)}'s " if host.startswith(GUEST) else ""
        return f"{reason} (kfree_skb at {whose}{name})"


def lost_events(measured: Measured) -> int:
    """Dropped frames that the kernel told of and nobody counted."""
    if measured.drops is None:
        return 0
    before, after = measured.drops
    return after.lost_events - before.lost_events
