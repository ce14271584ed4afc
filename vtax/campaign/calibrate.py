"""The source's own ceiling: what each mechanism offers when nothing behind the link slows it.

Measured on the shaped interfaces with every frame dropped at the UUT's ingress, for each frame size and number
of streams, all streams together. A trial whose offered load is at this ceiling says nothing of the platform.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from vtax.machine.ownership import OwnershipRecord
from vtax.testbed.local import LocalSettings, LocalTestbed

MECHANISMS = ("paced", "flood")
WARMUP_S = 0.1
MEASURE_S = 0.4
REPEATS = 3
BEYOND_ANY_FPS = 1e7
"""An intended load that no mechanism reaches, so that the paced one shows its ceiling."""


@dataclass(frozen=True)
class Ceiling:
    """Frames a second of all streams together, the median of the repeats."""

    mechanism: str
    streams: int
    frame_bytes: int
    ceiling_fps: float

    def as_json(self) -> dict[str, Any]:
        """For campaign.json."""
        return asdict(self)


def calibrate(
    settings: LocalSettings, loads: Iterable[tuple[int, int]], record: OwnershipRecord
) -> dict[tuple[str, int, int], Ceiling]:
    """Ceilings by (mechanism, streams, frame_bytes) for the (streams, frame_bytes) in `loads`."""
    wanted = sorted(set(loads))
    testbed = LocalTestbed(settings, max(streams for streams, _ in wanted), record)
    ceilings = {}
    try:
        testbed.build("wire")
        testbed.uut.start_agent("ingress", "host")
        testbed.uut.call("ingress", "ingress.drop", {"interfaces": testbed.ingress_interfaces()})
        opened = 0
        for streams, frame_bytes in wanted:
            if streams != opened:
                if opened:
                    testbed.source.call("source", "source.close", {})
                parameters = {"cpu": settings.cpus["agents"][0], "streams": testbed.source_streams(streams)}
                testbed.source.call("source", "source.open", parameters)
                opened = streams
            for mechanism in MECHANISMS:
                rate = median(_offered_fps(testbed, mechanism, frame_bytes) for _ in range(REPEATS))
                ceilings[mechanism, streams, frame_bytes] = Ceiling(mechanism, streams, frame_bytes, rate)
        testbed.uut.call("ingress", "ingress.release", {})
    finally:
        testbed.close()
    return ceilings


def _offered_fps(testbed: LocalTestbed, mechanism: str, frame_bytes: int) -> float:
    reply = testbed.source.call(
        "source",
        "source.run",
        {
            "trial": 0,
            "frame_bytes": frame_bytes,
            "mechanism": mechanism,
            "intended_fps": BEYOND_ANY_FPS if mechanism == "paced" else None,
            "probe_fps": 1000 if mechanism == "paced" else 200,
            "phases": [
                {"phase": "warmup", "duration_s": WARMUP_S},
                {"phase": "measure", "duration_s": MEASURE_S},
            ],
        },
    )
    measured = [stream["phases"][-1] for stream in reply["streams"]]
    window_s = (measured[0]["end_ns"] - measured[0]["start_ns"]) / 1e9
    return float(sum(phase["frames_sent"] for phase in measured) / window_s)
