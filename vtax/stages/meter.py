"""The agent's `stages.*` as seen from here: frames are followed along trails, and the times of their stages told."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from vtax.stages.trails import Trail

Call = Callable[[str, dict[str, Any]], Any]
"""Asks the agent: method and parameters."""
Follow = Literal["stamp", "headers"]
"""By the stamp of vtax's own test frames, or by header fields that no hop changes."""

PATIENCE_S = 30.0
"""The kernel checks a dozen programs when they are opened: where its CPUs are busy that takes its time."""
MOST_TRAILS = 16
MOST_WAYS = 4
"""As many trails may end at one point: guests that share a link, in a direction."""


@dataclass(frozen=True)
class StageTimes:
    """The delays of one stage, or of a whole trail, ns. Statistics are None where nothing was followed."""

    count: int
    sum_ns: int
    min_ns: float | None
    mean_ns: float | None
    p50_ns: float | None
    p90_ns: float | None
    p99_ns: float | None
    max_ns: float | None
    histogram: str

    @classmethod
    def of(cls, told: dict[str, Any]) -> "StageTimes":
        """From a reply, whatever else it holds."""
        return cls(**{name: told[name] for name in cls.__dataclass_fields__})


@dataclass(frozen=True)
class TrailReading:
    """What was followed along a trail: a time for each of its stages, all of the same frames, and for all of it.

    `frames` are followed frames by point: where one has fewer than that before it, some went another way or nowhere.
    """

    trail: Trail
    total: StageTimes
    stages: tuple[StageTimes, ...]
    frames: tuple[int, ...]


@dataclass(frozen=True)
class Reading:
    """Everything since the meter was opened or armed. Counts are followed frames of all trails together.

    `unattributed` ones completed no trail; of `lost` ones the marks were overwritten. `hooks` are runs and the mean
    time of one, ns, by hook; `gone` are interfaces that are not there any more.
    """

    trails: tuple[TrailReading, ...]
    followed: int
    unattributed: int
    lost: int
    hooks: dict[str, tuple[int, float | None]]
    gone: tuple[str, ...]


@dataclass(frozen=True)
class Event:
    """A followed frame at the points of its trail, ns of the kernel's monotonic clock."""

    trail: Trail
    identity: str
    at_ns: tuple[int, ...]


class StageMeter:
    """Follows frames along trails by one agent; nothing is attached before `open` and after `close`."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._trails: Sequence[Trail] = ()

    def open(self, trails: Sequence[Trail], *, every: int, follow: Follow, packets: int = 0) -> None:
        """Follow one frame in `every`, and keep the moments of the first `packets`.

        Raises AgentError, in the agent's words, where the kernel does not let it or an interface is not there.
        """
        params = {
            "trails": [trail.as_json() for trail in trails],
            "sample_every": every,
            "follow": follow,
            "packets": packets,
        }
        self._call("stages.open", params)
        self._trails = trails

    def arm(self, delay_s: float, duration_s: float) -> None:
        """Forget everything, and follow what begins its way in a window that begins so much later."""
        self._call("stages.arm", {"delay_s": delay_s, "duration_s": duration_s})

    def read(self) -> Reading:
        """Everything so far."""
        told = [self._collected(number) for number in range(len(self._trails))]
        last = told[-1]
        readings = tuple(
            TrailReading(
                trail,
                StageTimes.of(reply["total"]),
                tuple(StageTimes.of(stage) for stage in reply["stages"]),
                tuple(point["frames"] for point in reply["points"]),
            )
            for trail, reply in zip(self._trails, told, strict=True)
        )
        return Reading(
            readings,
            last["followed"],
            last["unattributed"],
            last["lost_events"],
            {hook["hook"]: (hook["hits"], hook["ns"]) for hook in last["hooks"]},
            tuple(last["gone"]),
        )

    def events(self) -> list[Event]:
        """The packets whose moments were kept, in the order in which their ways ended."""
        return [
            Event(self._trails[packet["trail"]], packet["identity"], tuple(packet["at_ns"]))
            for packet in self._kept()
        ]

    def close(self) -> None:
        """Take everything off; one that is not open is passed over."""
        if self._trails:
            self._trails = ()
            self._call("stages.close", {})

    def _collected(self, number: int) -> dict[str, Any]:
        """All stages of a trail; a line holds some at a time."""
        told: dict[str, Any] = self._call("stages.collect", {"trail": number, "first": 0})
        while len(told["stages"]) < len(self._trails[number].stages):
            more = self._call("stages.collect", {"trail": number, "first": len(told["stages"])})
            told["stages"] += more["stages"]
        return told

    def _kept(self) -> Iterator[dict[str, Any]]:
        first = 0
        while True:
            told = self._call("stages.packets", {"first": first})
            yield from told["packets"]
            first += len(told["packets"])
            if first >= told["kept"] or not told["packets"]:
                return
