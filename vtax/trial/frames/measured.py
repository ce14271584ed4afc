"""What a run of frames brought home, and how it is asked for."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import get_args

from vtax.agent_api import (
    DropsReadAnswer,
    Mechanism,
    Phase,
    SinkArmParams,
    SinkHistogramsAnswer,
    SourceRunParams,
)
from vtax.keys.cell import Cell
from vtax.keys.frames import FrameLoad
from vtax.results import CapturedFrame
from vtax.testbed.counters import InterfaceCounters
from vtax.trial.frames.answers import Received, Sent, StreamSent
from vtax.trial.observed import Observed, Twice

PROBES_PER_S_PACED = 1000
PROBES_PER_S_FLOOD = 200
PROBES_PER_S_SHARED_FLOOD = 0.1
"""As good as none: they come on top of a link that is full, and would overfill the uplink behind it."""


PLAIN: Mechanism = "raw"
"""The mechanism that sends every frame by itself where it can."""
GENERATOR: Mechanism = "pktgen"
"""The mechanism whose frames the kernel makes: none of them is a probe."""
OWN_MECHANISMS: Sequence[Mechanism] = tuple(name for name in get_args(Mechanism) if name != GENERATOR)
"""Those whose frames the agent makes. The generator is opened where it is named: it is everybody's."""


@dataclass
class Measured(Observed):
    """Everything one trial brought home."""

    load: FrameLoad = field(kw_only=True)
    """What was asked of it."""
    mechanism: Mechanism = "raw"
    source: Sent = field(default_factory=Sent)
    sink: Received = field(default_factory=Received)
    times: dict[int, SinkHistogramsAnswer] = field(default_factory=dict)
    """What sinks know of the times of streams beside their delay, by stream."""
    captured: list[CapturedFrame] = field(default_factory=list)
    """The first frames that came, of all streams."""
    interfaces: Twice[dict[str, InterfaceCounters]] | None = None
    drops: Twice[DropsReadAnswer] | None = None
    """Frames that the kernel says it dropped (ForwardingPath.dropped); None where it was not asked."""
    no_drop_reasons: str | None = None
    """Why it does not say why (Path.no_drop_reasons)."""
    clock_error_ns: dict[int, int] = field(default_factory=dict)
    """By how much the delays of a stream may be wrong whose source and sink have not one clock."""
    egress_words: str | None = None
    """The queueing discipline that the guest was asked to send through (Path.egress_words)."""

    @property
    def probes_are_beside(self) -> bool:
        """Whether probes come on top of the frames: of a flood, and where the kernel makes these."""
        return self.load.intended_mbps is None or self.mechanism == GENERATOR

    def departed(self, stream: StreamSent) -> int:
        """Frames of all phases that the source sent on one stream, and probes beside them."""
        beside = self.probes_are_beside
        return sum(phase.frames_sent + (phase.probes_sent if beside else 0) for phase in stream.phases)

    def refused(self, stream: StreamSent) -> int:
        """Probes of all phases that the link of a flooded stream had no room for."""
        return sum(phase.probes_refused for phase in stream.phases)

    def waits(self, stream: StreamSent) -> int:
        """How often in all phases the source began to wait for room, each of its strands in the mean."""
        return sum((phase.waits or 0) // len(phase.strand_frames) for phase in stream.phases)

    def received(self, interface: str) -> int:
        """Frames of all phases that an interface (host/name) received; 0 where that was not read."""
        if self.interfaces is None:
            return 0
        before, after = self.interfaces
        return after[interface]["received"] - before[interface]["received"]

    @property
    def window_s(self) -> float:
        """The window common to the flows of a source, which has one schedule and one clock; of several the shortest."""
        windows_ns = []
        for host in {stream.host for stream in self.source.streams}:
            phases = [stream.phase() for stream in self.source.streams if stream.host == host]
            windows_ns.append(min(phase.end_ns for phase in phases) - max(phase.start_ns for phase in phases))
        return min(windows_ns) / 1e9

    @property
    def drain_s(self) -> float:
        """How long the sinks waited for the last frames."""
        return max(sink.drain_ms for sink in self.sink.hosts.values()) / 1000


def probes_per_s(cell: Cell, mechanism: Mechanism) -> float:
    """Frames a second of each stream whose delay is taken."""
    if cell.frame_load.intended_mbps is not None and mechanism != GENERATOR:
        return PROBES_PER_S_PACED
    return PROBES_PER_S_SHARED_FLOOD if cell.testbed.is_shared else PROBES_PER_S_FLOOD


def probe_interval(load: FrameLoad) -> int:
    """One frame of a paced stream in so many is a probe, as the source reckons; a flood's probes go beside it."""
    if load.intended_fps is None:
        return 1
    return max(1, math.floor(load.intended_fps / PROBES_PER_S_PACED + 0.5))


def as_awaited(trial: int, load: FrameLoad) -> SinkArmParams:
    """Parameters of `sink.arm`. Of a flood no gaps are filed: the sink's time is the platform's there."""
    gaps = load.intended_fps is not None
    return load.frames.arm(trial, "measure", probe_interval(load), gaps=gaps)


def as_run(
    trial: int,
    load: FrameLoad,
    mechanism: Mechanism,
    probe_fps: float | None = None,
    *,
    shares_cpu: bool = False,
) -> SourceRunParams:
    """Parameters of `source.run`; probes are as many as a stream of its own links has, unless told otherwise."""
    phases_s: dict[Phase, float] = {"warmup": load.warmup_s} if load.warmup_s else {}
    return load.frames.run(
        trial,
        mechanism,
        {**phases_s, "measure": load.duration_s},
        intended_fps=load.intended_fps,
        probe_fps=probe_fps or (PROBES_PER_S_FLOOD if load.intended_fps is None else PROBES_PER_S_PACED),
        shares_cpu=shares_cpu,
    )
