"""The test frames that a workload asks for: what params of source and sink are made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from vtax.agent_api import (
    MOST_STRANDS,
    AnalysedPhase,
    CalibratedLoad,
    Mechanism,
    Phase,
    SinkArmParams,
    SourceCalibrateParams,
    SourcePhase,
    SourceRunParams,
)
from vtax.keys.encapsulation import Encapsulation
from vtax.keys.lengths import Lengths, lengths_of
from vtax.units import fps


def strands_of(threads: int, *streams: int) -> int | None:
    """Return how many strands a stream has, so that all threads have equally many and one at least.

    It is the least power of two that does so at each source, which has so many `streams`; None where none does.
    """
    powers = (1 << bits for bits in range(MOST_STRANDS.bit_length()))
    return next((n for n in powers if all(n * count % threads == 0 for count in streams)), None)


@dataclass(frozen=True)
class FrameSpec:
    """The frames of each stream: their lengths, their headers, and the flows that they are of."""

    frame_bytes: int | str
    """The length of all frames, FCS left out, or a mix as the scenario has it."""
    encapsulation: Encapsulation = field(default_factory=Encapsulation)
    flows: int = 1
    """UDP flows of a stream, by source ports."""

    @cached_property
    def lengths(self) -> Lengths:
        """The lengths of a cycle; those of a named mix have room for the headers."""
        return lengths_of(self.frame_bytes, self.encapsulation.least_frame_bytes)

    def calibrate(self, load: CalibratedLoad) -> SourceCalibrateParams:
        """Return what a source is asked whose ceilings are measured."""
        return SourceCalibrateParams(frame_bytes=self.lengths.as_json(), flows=self.flows, load=load)

    def arm(
        self, trial: int, phase: AnalysedPhase, probe_interval: int = 1, *, gaps: bool = True
    ) -> SinkArmParams:
        """Return what a sink is asked that awaits the frames of a trial; without `gaps` each costs it less."""
        return SinkArmParams(
            trial=trial,
            phase=phase,
            frame_bytes=self.lengths.as_json(),
            probe_interval=probe_interval,
            gaps=gaps,
        )

    def run(
        self,
        trial: int,
        mechanism: Mechanism,
        phases_s: Mapping[Phase, float],
        *,
        intended_fps: float | None,
        probe_fps: float,
        shares_cpu: bool = False,
    ) -> SourceRunParams:
        """Return what a source is asked that sends phases of so many seconds, in their order."""
        return SourceRunParams(
            trial=trial,
            frame_bytes=self.lengths.as_json(),
            flows=self.flows,
            mechanism=mechanism,
            intended_fps=intended_fps,
            probe_fps=probe_fps,
            phases=[
                SourcePhase(phase=phase, duration_s=duration_s) for phase, duration_s in phases_s.items()
            ],
            shares_cpu=shares_cpu,
        )


@dataclass(frozen=True)
class FrameLoad:
    """Frames of each stream, how many of them are to be sent, and how long."""

    frames: FrameSpec
    warmup_s: float
    """Before the window; what is sent then is discarded."""
    duration_s: float
    """The window."""
    intended_mbps: float | None = None
    """Of each stream at layer 1; None: a flood."""
    threads: int = 1
    """Threads of each source that send, a CPU each."""

    @property
    def lengths(self) -> Lengths:
        """The lengths of a stream's frames."""
        return self.frames.lengths

    @property
    def intended_fps(self) -> float | None:
        """Frames a second of each stream; None for the flood."""
        return None if self.intended_mbps is None else fps(self.intended_mbps, self.lengths.mean)
