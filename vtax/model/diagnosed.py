"""What cells of a kind of workload can lose, and by which pieces of work CPU time is counted there."""

from __future__ import annotations

from dataclasses import dataclass

from vtax.model import numbers
from vtax.model.metric import BUCKET
from vtax.model.numbers import Format
from vtax.statistics import PER_MILLE, Resolution


@dataclass(frozen=True)
class Lost:
    """Something that is lost when it gets less, or, of a time, more. `column` is what trials have of it, in steps."""

    column: str
    unit: str
    form: Format
    verb: str
    resolution: Resolution
    is_time: bool = False


_ONE_IN_A_THOUSAND = Resolution(step=1e-3)
_BUCKET = Resolution(share=BUCKET)
TCP_RTT = Resolution(step=1000.0)
"""TCP tells its round trip in whole microseconds."""

RECEIVED = Lost("received_mbps", "Mbit/s", numbers.mbps, "receives", PER_MILLE)
GOODPUT = Lost("goodput_mbps", "Mbit/s", numbers.mbps, "receives", PER_MILLE)
DELIVERED = Lost(
    "delivered_ratio", "% of what is sent", numbers.ratio_as_percent, "delivers", _ONE_IN_A_THOUSAND
)
MEDIAN_DELAY = Lost(
    "latency_p50_ns", "µs", numbers.microseconds, "has a median delay of", _BUCKET, is_time=True
)
MEAN_TIME = Lost("latency_mean_ns", "µs", numbers.microseconds, "has a mean time of", PER_MILLE, is_time=True)
ROUND_TRIP = Lost("rtt_ns", "µs", numbers.microseconds, "has a round trip of", TCP_RTT, is_time=True)


@dataclass(frozen=True)
class Diagnosed:
    """What is compared of cells: what they carry, also where their loads differ, and how long it takes.

    CPU time is counted by `piece`, of which trials have `per_s` a second. Where pieces are frames these are the ones
    that got beyond the queues before the unit under test, and hops are counted. Of streams of data many pieces are
    under way at once: their times do not add up.
    """

    carried: Lost = DELIVERED
    carried_of_load: Lost = DELIVERED
    time: Lost = MEAN_TIME
    piece: str = "an answer"
    per_s: str = "answered_per_s"
    is_of_frames: bool = False
    is_of_streams: bool = False


ANSWERS = Diagnosed()
FRAMES = Diagnosed(carried=RECEIVED, time=MEDIAN_DELAY, piece="a frame", is_of_frames=True)
STREAMS = Diagnosed(
    carried=GOODPUT,
    carried_of_load=GOODPUT,
    time=ROUND_TRIP,
    piece="a megabit",
    per_s="goodput_mbps",
    is_of_streams=True,
)
