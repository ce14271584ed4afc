"""From sources to sinks: what frames take, and when it carries them.

Each stream has the source and the sink whose turn it is. All sources are asked at once, and so are all sinks.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

from msgspec import structs

from vtax.agent_api import (
    AgentApi,
    AnalysedPhase,
    ExpectedStream,
    Mechanism,
    SinkArmParams,
    SinkCollectAnswer,
    SinkCollectParams,
    SinkOpenAnswer,
    SinkOpenParams,
    SourceCalibrateAnswer,
    SourceCalibrateParams,
    SourceClock,
    SourceOpenParams,
    SourceRunAnswer,
    SourceRunParams,
    SourceStream,
    StreamInterface,
)
from vtax.agent_message import CALL_TIMEOUT_S, Answer, Nothing, Pending
from vtax.keys.frames import FrameSpec, strands_of
from vtax.testbed.machines import Agent, turn_of
from vtax.testbed.testbed import Testbed
from vtax.trial.frames.answers import Received, Sent
from vtax.trial.frames.measured import OWN_MECHANISMS
from vtax.trial.path import PathFailed

READY_FRAMES = 200
READY_FPS = 1000
READY_LIMIT_S = 10.0
READY_TRIAL = 0xFFFFFFFF
"""Trial number that readiness frames carry; trials count from 1."""
SNAP_BYTES = 256
"""Of each captured frame, as many bytes are kept: all that a test frame is made of, and some of its padding."""


class _OfStream(Protocol):
    @property
    def stream(self) -> int:
        """The stream's number."""


Of = TypeVar("Of", bound=_OfStream)


@dataclass(frozen=True)
class Asked(Generic[Answer]):
    """What agents were asked and have not answered yet, by the names of their hosts."""

    pending: Mapping[str, Pending[Answer]]

    def answers(self, timeout_s: float = CALL_TIMEOUT_S) -> dict[str, Answer]:
        """Wait for what each answers. Raises AgentError, AgentGone."""
        return {host: finish(timeout_s) for host, finish in self.pending.items()}


class Passage:
    """Agents that have the sources of streams, and agents that have their sinks."""

    def __init__(self, sources: Sequence[Agent], sinks: Sequence[Agent]) -> None:
        self._sources, self._sinks = sources, sinks
        self._sending: dict[Agent, int] = {}
        """How many streams each source has that has any."""
        self._opened: tuple[int, Sequence[Mechanism]] = (0, ())
        """With how many threads, for which mechanisms."""
        self._strands = 1

    @classmethod
    def of(cls, testbed: Testbed) -> Self:
        """That of a testbed: its agents are called by their roles."""
        return cls(testbed.agents("source"), testbed.agents("sink"))

    def open_sinks(
        self, streams: Sequence[StreamInterface], capture_frames: int = 0
    ) -> dict[str, SinkOpenAnswer]:
        """Open every sink on its streams; returns how each counts, by its host."""

        def begin(sink: Agent) -> Pending[SinkOpenAnswer]:
            own = _of(sink, self._sinks, streams)
            params = SinkOpenParams(
                attach="auto", streams=own, capture_frames=capture_frames, snap_bytes=SNAP_BYTES
            )
            return _api(sink).begin_sink_open(params)

        return _asked(self._sinks, begin).answers()

    def open_sources(
        self,
        streams: Sequence[SourceStream],
        threads: int = 1,
        mechanisms: Sequence[Mechanism] = OWN_MECHANISMS,
    ) -> None:
        """Open the sources on these streams, each with so many threads, where they are not; and close them on others.

        The frames of a passage all have the same headers.
        """
        dealt = {source: _of(source, self._sources, streams) for source in self._sources}
        sending = {source: len(own) for source, own in dealt.items() if own}
        if (sending, (threads, mechanisms)) == (self._sending, self._opened):
            return
        for source in self._sending:
            _api(source).source_close()
        self._sending, self._opened = sending, (threads, mechanisms)
        strands = strands_of(threads, *sending.values())
        if strands is None:
            raise PathFailed(
                f"{threads} threads cannot share {[*sending.values()]} streams of the sources evenly"
            )
        self._strands = strands
        for source in sending:
            host, _ = source
            params = SourceOpenParams(
                cpus=host.cpus["agents"][:threads],
                mechanisms=[*mechanisms],
                streams=dealt[source],
                strands=self._strands,
            )
            _api(source).source_open(params)

    @property
    def shares(self) -> list[int]:
        """How many streams each source has, in the order in which they answer."""
        return list(self._sending.values())

    def calibrate(self, params: SourceCalibrateParams) -> Asked[SourceCalibrateAnswer]:
        """Have all sources that have streams measure their ceilings."""
        return _asked(self._sending, lambda source: _api(source).begin_source_calibrate(params))

    def run(self, params: SourceRunParams) -> Asked[SourceRunAnswer]:
        """Have all streams sent."""
        return _asked(self._sending, lambda source: _api(source).begin_source_run(params))

    def abort(self) -> None:
        """Have no stream sent any more."""
        _asked(self._sending, lambda source: _api(source).begin_abort()).answers()

    def arm(self, params: SinkArmParams, clocks: Sequence[SourceClock] = ()) -> None:
        """Have every sink await a trial's frames; `clocks` tells how far it is ahead of its streams' sources."""

        def begin(sink: Agent) -> Pending[Nothing]:
            own = _of(sink, self._sinks, clocks)
            return _api(sink).begin_sink_arm(structs.replace(params, clocks=own, strands=self._strands))

        _asked(self._sinks, begin).answers()

    def collect(self, sent: Sent, phase: AnalysedPhase, quiet_ms: int, limit_ms: int) -> Received:
        """What all sinks counted, once all of a phase has come of what sources `sent`."""
        expected = [
            ExpectedStream(stream=stream.stream, strand_frames=stream.phase(phase).strand_frames)
            for stream in sent.streams
        ]

        def begin(sink: Agent) -> Pending[SinkCollectAnswer]:
            own = _of(sink, self._sinks, expected)
            params = SinkCollectParams(expected=own, quiet_ms=quiet_ms, limit_ms=limit_ms)
            return _api(sink).begin_sink_collect(params)

        return Received(_asked(self._sinks, begin).answers())

    def sink(self, stream: int) -> AgentApi:
        """Return the agent that has a stream's own sink."""
        return _api(turn_of(stream, self._sinks))

    def await_ready(self, frames: FrameSpec, last_words: Callable[[], str]) -> None:
        """Until 200 consecutive frames at 1000 a second arrived on every stream; raises PathFailed after 10 s."""
        deadline = time.monotonic() + READY_LIMIT_S
        while True:
            runs = self._probe(frames)
            short = {stream: run for stream, run in runs.items() if run < READY_FRAMES}
            if not short:
                return
            if time.monotonic() > deadline:
                lacking = ", ".join(f"stream {stream}: {run}" for stream, run in short.items())
                raise PathFailed(
                    f"no {READY_FRAMES} consecutive frames came through within {READY_LIMIT_S:g} s ({lacking})\n"
                    f"{last_words()}"
                )

    def _probe(self, frames: FrameSpec) -> dict[int, int]:
        """The longest run of consecutive frames on each stream."""
        duration_s = (READY_FRAMES + 10) / READY_FPS
        self.arm(frames.arm(READY_TRIAL, "probe"))
        run = frames.run(
            READY_TRIAL, "raw", {"probe": duration_s}, intended_fps=READY_FPS, probe_fps=READY_FPS
        )
        sent = Sent(self.run(run).answers())
        received = self.collect(sent, "probe", quiet_ms=50, limit_ms=500)
        return {stream.stream: stream.longest_run for stream in received.streams}


def _api(agent: Agent) -> AgentApi:
    host, name = agent
    return host.api(name)


def _asked(agents: Iterable[Agent], begin: Callable[[Agent], Pending[Answer]]) -> Asked[Answer]:
    return Asked({agent[0].name: begin(agent) for agent in agents})


def _of(agent: Agent, agents: Sequence[Agent], streams: Sequence[Of]) -> list[Of]:
    """What is of the streams that are an agent's."""
    return [each for each in streams if turn_of(each.stream, agents) == agent]
