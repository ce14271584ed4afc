"""The agent's `stages.*` as seen from here: frames are followed along trails, and the times of their stages told."""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import structs

from vtax.agent_api import (
    MOST_PACKETS,
    MOST_TRAIL_ENDS,
    AgentApi,
    Delays,
    Follow,
    FollowedPacket,
    StageDelays,
    StagesArmParams,
    StagesCollectAnswer,
    StagesCollectParams,
    StagesOpenParams,
    StagesPacketsParams,
)
from vtax.machine.series import Part, read_series
from vtax.stages.trails import Trail

PATIENCE_S = 30.0
"""The kernel checks a dozen programs when they are opened: where its CPUs are busy that takes its time."""
MOST_WAYS = MOST_TRAIL_ENDS
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
    def of(cls, delays: Delays | StageDelays) -> "StageTimes":
        """Return the times in a reply."""
        return cls(**{name: getattr(delays, name) for name in cls.__dataclass_fields__})


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

    def __init__(self, api: AgentApi) -> None:
        self._api = api
        self._trails: Sequence[Trail] = ()

    def open(self, trails: Sequence[Trail], *, every: int, follow: Follow, packets: int = 0) -> None:
        """Follow one frame in `every`, and keep the moments of the first `packets`.

        Raises AgentError, in the agent's words, where the kernel does not let it or an interface is not there.
        """
        params = StagesOpenParams(
            trails=[trail.as_param() for trail in trails],
            sample_every=every,
            follow=follow,
            packets=packets,
        )
        self._api.stages_open(params, PATIENCE_S)
        self._trails = trails

    def arm(self, delay_s: float, duration_s: float) -> None:
        """Forget everything, and follow what begins its way in a window that begins so much later."""
        self._api.stages_arm(StagesArmParams(delay_s=delay_s, duration_s=duration_s), PATIENCE_S)

    def read(self) -> Reading:
        """Everything so far."""
        collected = [self._collected(number) for number in range(len(self._trails))]
        last = collected[-1]
        readings = tuple(
            TrailReading(
                trail,
                StageTimes.of(answer.total),
                tuple(StageTimes.of(stage) for stage in answer.stages),
                tuple(point.frames for point in answer.points),
            )
            for trail, answer in zip(self._trails, collected, strict=True)
        )
        return Reading(
            readings,
            last.followed,
            last.unattributed,
            last.lost_events,
            {hook.hook: (hook.hits, hook.ns) for hook in last.hooks},
            tuple(last.gone),
        )

    def events(self) -> list[Event]:
        """The packets whose moments were kept, in the order in which their ways ended."""
        return [
            Event(self._trails[packet.trail], packet.identity, tuple(packet.at_ns)) for packet in self._kept()
        ]

    def close(self) -> None:
        """Take everything off; one that is not open is passed over."""
        if self._trails:
            self._trails = ()
            self._api.stages_close(PATIENCE_S)

    def _collected(self, number: int) -> StagesCollectAnswer:
        """Return all stages of a trail; a line holds some at a time."""
        answers: list[StagesCollectAnswer] = []
        end = len(self._trails[number].stages)

        def ask(first: int, timeout_s: float) -> Part[StageDelays]:
            params = StagesCollectParams(trail=number, first=first)
            answers.append(self._api.stages_collect(params, min(timeout_s, PATIENCE_S)))
            return answers[-1].stages, end

        stages = read_series(self._api.agent, "stages.collect", "stages", end, ask)
        return structs.replace(answers[0], stages=stages)

    def _kept(self) -> list[FollowedPacket]:
        def ask(first: int, timeout_s: float) -> Part[FollowedPacket]:
            params = StagesPacketsParams(first=first)
            answer = self._api.stages_packets(params, min(timeout_s, PATIENCE_S))
            return answer.packets, answer.kept

        return read_series(
            self._api.agent, "stages.packets", "packets", MOST_PACKETS, ask, grows=True, may_stop=True
        )
