"""A path that frames take: a built testbed with a guest in it, ready to be measured again and again."""

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import structs

from vtax.agent_api import AgentApi, DropsOpenParams, DropsReadAnswer, Mechanism, SinkCost, SinkOpenAnswer
from vtax.keys.frames import FrameLoad, FrameSpec
from vtax.machine.agent import AgentError
from vtax.platforms import PlatformConfig, Preset
from vtax.testbed.dedicated import dedicated
from vtax.testbed.machines import Machines
from vtax.testbed.settings import LocalSettings
from vtax.testbed.shared import shared
from vtax.testbed.testbed import Testbed
from vtax.trial.beside import Neighbours
from vtax.trial.frames.measured import GENERATOR, OWN_MECHANISMS, PLAIN
from vtax.trial.frames.passage import Passage
from vtax.trial.path import Path, PathFacts
from vtax.trial.tracing.path import TracePath, router_trace_paths

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
    sink_costs: Mapping[str, SinkCost]
    """What a frame costs the sink, by the sink's host."""


def forwarding_testbed(settings: LocalSettings, port_kind: str, streams: int, machines: Machines) -> Testbed:
    """Return the testbed on which frames of so many streams are forwarded."""
    if settings.shared:
        network = shared(settings, port_kind, streams, forwards=True, busy_source=True)
    else:
        network = dedicated(settings, port_kind, streams, machines.roles)
    return Testbed(network, machines)


class ForwardingPath(Path):
    """A path that frames take from sources through the guests to sinks."""

    facts: ForwardingFacts | None
    passage: Passage
    """Its agents; others once it is opened again."""

    def __init__(
        self,
        preset: Preset,
        config: PlatformConfig,
        testbed: Testbed,
        samples_hz: int = 0,
        capture_frames: int = 0,
        neighbours: Neighbours | None = None,
    ) -> None:
        protocols = testbed.settings.encapsulation.protocols
        super().__init__(preset, config, testbed, protocols, samples_hz, neighbours)
        self._capture_frames = capture_frames
        self._sinks: dict[str, SinkOpenAnswer] = {}
        self._metered: dict[int, str] = {}
        self._metering = False
        self._no_drop_meter: str | None = None

    def open(self) -> ForwardingFacts:
        """Build everything and wait until it is ready; raises PathFailed, PlatformUnusable, OSError."""
        facts = super().open()
        costs = {host: sink.cost for host, sink in self._sinks.items()}
        mode, fallback = self._counting
        self.facts = ForwardingFacts(facts.hello_s, facts.ready_s, facts.notes, mode, fallback, costs)
        return self.facts

    def make_ready(self) -> None:
        """Wait until frames come through on every stream."""
        self.passage = Passage.of(self.testbed)
        self._sinks = self.passage.open_sinks(self.testbed.sink_streams(), self._capture_frames)
        self._no_drop_meter = self._try_drop_meter()
        self.cpu_meter.open(*self.testbed.watcher)
        encapsulation = self.testbed.settings.encapsulation
        frames = FrameSpec(encapsulation.least_frame_bytes, encapsulation)
        self.passage.open_sources(self.testbed.source_streams(len(self.testbed.network.streams), frames))
        self.passage.await_ready(frames, self.last_words)

    def refusals(self) -> dict[str, str | None]:
        """See Path."""
        mode, fallback = self._counting
        return {
            "drop reasons are not available": self._no_drop_meter,
            **super().refusals(),
            f"frames are counted by {mode}": fallback,
            **self._clocks_note(),
        }

    @property
    def _counting(self) -> tuple[str, str | None]:
        """Return how the sinks' programs are attached, and why not in a way that costs less."""
        streams = [stream for sink in self._sinks.values() for stream in sink.streams]
        reasons = sorted({stream.fallback for stream in streams if stream.fallback})
        return "+".join(sorted({stream.attached for stream in streams})), "\n".join(reasons) or None

    def _clocks_note(self) -> dict[str, str]:
        """What clocks that are not one do to delay."""
        worst = max(self.testbed.compare_clocks().values(), key=lambda ahead: ahead.error_ns)
        if not worst.error_ns:
            return {}
        what = f"delay in one direction is known to {worst.error_ns / 1000:.0f} µs"
        return {what: f"source and sink have clocks of their own, compared by {worst.by}"}

    def use_streams(self, count: int, load: FrameLoad, mechanism: Mechanism) -> None:
        """Open the sources on the first `count` streams, which are to be sent by a mechanism."""
        mechanisms = (PLAIN, GENERATOR) if mechanism == GENERATOR else OWN_MECHANISMS
        self.passage.open_sources(self.testbed.source_streams(count, load.frames), load.threads, mechanisms)

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

    def trace_paths(self) -> list[TracePath]:
        """The ways that a traced trial follows frames along."""
        return router_trace_paths(self.testbed, self.nic)

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
