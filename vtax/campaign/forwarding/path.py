"""A path that frames take: a built testbed with a guest in it, ready to be measured again and again."""

from dataclasses import dataclass

from msgspec import structs

from vtax.agent_api import AgentApi, DropsOpenParams, DropsReadAnswer
from vtax.campaign.forwarding.passage import Passage
from vtax.campaign.neighbours.base import Neighbours
from vtax.campaign.path import Path, PathFacts, PathFailed
from vtax.campaign.trails import Way, router_ways
from vtax.machine.agent import AgentError, AgentGone
from vtax.platforms import PlatformConfig, Preset
from vtax.scenario.frames import FrameSpec
from vtax.testbed.local import LocalTestbed

DROP_PLACES = 256
"""How many interfaces and reasons the drop meter tells apart."""
DROPS_METERED_FPS = 100_000
"""More frames a second are not metered: each that the sink takes costs 48 ns, 0.5% of a CPU at this rate."""


@dataclass(frozen=True)
class ForwardingFacts(PathFacts):
    """Also how the sinks count."""

    sink_mode: str
    """How the sinks' programs are attached."""
    sink_fallback: str | None
    """Why it is not attached in a way that costs less; None where there is none."""
    sink_cost_ns: dict[str, float]
    """What counting a frame costs, by the sink's host."""


class ForwardingPath(Path):
    """A path that frames take from sources through the guests to sinks."""

    testbed: LocalTestbed
    facts: ForwardingFacts | None
    passage: Passage
    """Its agents; others once it is opened again."""

    def __init__(
        self,
        preset: Preset,
        config: PlatformConfig,
        testbed: LocalTestbed,
        samples_hz: int = 0,
        capture_frames: int = 0,
        neighbours: Neighbours | None = None,
    ) -> None:
        protocols = testbed.settings.encapsulation.protocols
        super().__init__(preset, config, testbed, protocols, samples_hz, neighbours)
        self._capture_frames = capture_frames
        self._metered: dict[int, str] = {}
        self._metering = False

    def open(self) -> ForwardingFacts:
        """Build everything and wait until it is ready; raises PathFailed, PlatformUnusable, OSError."""
        self.build()
        begun = self.testbed.uut.counters([])["at_s"]
        try:
            hello_s = self.start_guests()
            self.passage = Passage.of(self.testbed)
            sinks = self.passage.open_sinks(self.testbed.sink_streams(), self._capture_frames)
            no_drop_reasons = self._try_drop_meter()
            self.cpu_meter.open(*self.testbed.watcher)
            encapsulation = self.testbed.settings.encapsulation
            frames = FrameSpec(encapsulation.least_frame_bytes, encapsulation)
            self.use_streams(len(self.testbed.streams), frames)
            self.passage.await_ready(frames, self.last_words)
            self.neighbours.ready()
            self.set_egress()
        except (AgentGone, AgentError) as error:
            raise PathFailed(f"{error}\n{self.last_words()}".strip()) from None
        ready_s = self.testbed.uut.counters([])["at_s"] - begun
        streams = [stream for sink in sinks.values() for stream in sink.streams]
        mode = "+".join(sorted({stream.attached for stream in streams}))
        reasons = sorted({stream.fallback for stream in streams if stream.fallback})
        fallback = "\n".join(reasons) or None
        noted = {
            "drop reasons are not available": no_drop_reasons,
            "CPU time is counted, not sampled": self.cpu_meter.refused,
            f"frames are counted by {mode}": fallback,
            **self._clocks_note(),
        }
        notes = (
            *self.scheduling_notes,
            *(f"{what}: {why}" for what, why in noted.items() if why is not None),
        )
        costs_ns = {host: sink.cost_ns_per_frame for host, sink in sinks.items()}
        self.facts = ForwardingFacts(hello_s, ready_s, notes, mode, fallback, costs_ns)
        return self.facts

    def _clocks_note(self) -> dict[str, str]:
        """What clocks that are not one do to delay."""
        worst = max(self.testbed.compare_clocks().values(), key=lambda ahead: ahead.error_ns)
        if not worst.error_ns:
            return {}
        what = f"delay in one direction is known to {worst.error_ns / 1000:.0f} µs"
        return {what: f"source and sink have clocks of their own, compared by {worst.by}"}

    def use_streams(self, count: int, frames: FrameSpec) -> None:
        """Open the sources on the first `count` streams. The frames of a path all have the same headers."""
        if count != self.passage.sending:
            self.passage.open_sources(self.testbed.source_streams(count, frames))

    def meter_drops(self, frames_per_s: float | None) -> None:
        """Have the kernel's drops counted at so many frames a second, or not; None is a flood."""
        wanted = bool(self._metered) and frames_per_s is not None and frames_per_s <= DROPS_METERED_FPS
        if wanted != self._metering:
            self._open_drop_meter() if wanted else self._close_drop_meter()

    def dropped(self) -> DropsReadAnswer | None:
        """Test frames that the kernel dropped since they are metered, at interfaces that are called host/name.

        None where they are not.
        """
        if not self._metering:
            return None
        answer = self._watcher.drops_read()
        places = [
            structs.replace(place, interface=f"{self._metered[place.netns]}/{place.interface}")
            for place in answer.places
        ]
        return structs.replace(answer, places=places)

    def no_drop_reasons(self) -> str | None:
        """Why nobody says why frames are dropped, in a few words; None where the kernel does."""
        if self._metering:
            return None
        return (
            f"not asked beyond {DROPS_METERED_FPS} frames/s"
            if self._metered
            else "this kernel does not report it"
        )

    def ways(self) -> list[Way]:
        """The ways that a traced trial follows frames along."""
        return router_ways(self.testbed, self.nic)

    def close(self) -> None:
        """Take everything down."""
        self._metered = {}
        self._metering = False
        super().close()

    @property
    def _watcher(self) -> AgentApi:
        host, agent = self.testbed.watcher
        return host.api(agent)

    def _try_drop_meter(self) -> str | None:
        """Open the drop meter in all namespaces of the UUT's machine; returns why not where that cannot be."""
        self._metered = {inode: name for host in self.beside_uut for name, inode in host.namespaces().items()}
        try:
            self._open_drop_meter()
        except AgentError as error:
            self._metered = {}
            return str(error)
        return None

    def _open_drop_meter(self) -> None:
        self._watcher.drops_open(DropsOpenParams(namespaces=list(self._metered), places=DROP_PLACES))
        self._metering = True

    def _close_drop_meter(self) -> None:
        self._watcher.drops_close()
        self._metering = False
