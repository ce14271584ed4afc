"""From sources to sinks: what frames take, and when it carries them.

Each stream has the source and the sink whose turn it is. All sources are asked at once, and so are all sinks.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Self

from msgspec import convert, structs, to_builtins

from vtax.agent_api import (
    AgentApi,
    ExpectedStream,
    SinkArmParams,
    SinkCollectParams,
    SinkHistogramsParams,
    SinkOpenParams,
    SourceClock,
    SourceOpenParams,
    SourcePhase,
    SourceRunParams,
    SourceStream,
    StreamInterface,
)
from vtax.agent_message import Message, Pending
from vtax.campaign.path import PathFailed
from vtax.testbed.host import Host
from vtax.testbed.local import LocalTestbed
from vtax.testbed.machines import Agent, turn_of

READY_FRAMES = 200
READY_FPS = 1000
READY_LIMIT_S = 10.0
READY_TRIAL = 0xFFFFFFFF
"""Trial number that readiness frames carry; trials count from 1."""
Streams = Sequence[Mapping[str, Any]]
"""What is to be told of streams, each with its number as `stream`."""


@dataclass(frozen=True)
class Asked:
    """What agents were asked and have not answered yet, with the host of each."""

    pending: Sequence[tuple[Host, Pending[Message]]]

    def answers(self, timeout_s: float = 10.0) -> list[dict[str, Any]]:
        """Wait for what each answers; `host` is its host's name. Raises AgentError, AgentGone."""
        return [{**to_builtins(answer(timeout_s)), "host": host.name} for host, answer in self.pending]

    def together(self, timeout_s: float = 10.0) -> dict[str, Any]:
        """Wait for answers that tell of streams: {"streams": all of them by number, each with its `host`, "hosts"}.

        `hosts` is what each agent tells besides.
        """
        hosts = self.answers(timeout_s)
        streams = [{**stream, "host": told["host"]} for told in hosts for stream in told.pop("streams")]
        return {"streams": sorted(streams, key=itemgetter("stream")), "hosts": hosts}


class Passage:
    """Agents that have the sources of streams, and agents that have their sinks."""

    def __init__(self, sources: Sequence[Agent], sinks: Sequence[Agent]) -> None:
        self._sources, self._sinks = sources, sinks
        self._sending: dict[Agent, int] = {}
        """How many streams each source has that has any."""

    @classmethod
    def of(cls, testbed: LocalTestbed) -> Self:
        """That of a testbed: its agents are called by their roles."""
        return cls([(host, "source") for host in testbed.sources], [(host, "sink") for host in testbed.sinks])

    def open_sinks(self, streams: Streams, capture_frames: int = 0, snap_bytes: int = 128) -> dict[str, Any]:
        """Open every sink on its streams; see Asked.together."""

        def opened(api: AgentApi, own: Streams) -> Pending[Message]:
            interfaces = convert(own, type=list[StreamInterface])
            params = SinkOpenParams(
                attach="auto", streams=interfaces, capture_frames=capture_frames, snap_bytes=snap_bytes
            )
            return api.begin_sink_open(params)

        return self._ask_sinks(opened, streams).together()

    def open_sources(self, streams: Streams) -> None:
        """Open the sources on these streams, and close them on others."""
        for host, agent in self._sending:
            host.api(agent).source_close()
        dealt = {source: _of(source, self._sources, streams) for source in self._sources}
        self._sending = {source: len(own) for source, own in dealt.items() if own}
        for host, agent in self._sending:
            streams_there = convert(dealt[host, agent], type=list[SourceStream])
            params = SourceOpenParams(cpu=host.cpus["agents"][0], streams=streams_there)
            host.api(agent).source_open(params)

    @property
    def sending(self) -> int:
        """How many streams the sources are open on."""
        return sum(self._sending.values())

    @property
    def shares(self) -> list[int]:
        """How many streams each source has, in the order in which they answer."""
        return list(self._sending.values())

    def ask_sources(self, ask: Callable[[AgentApi], Pending[Message]]) -> Asked:
        """Ask all sources that have streams."""
        return Asked([(host, ask(host.api(agent))) for host, agent in self._sending])

    def run(self, params: SourceRunParams) -> Asked:
        """Have all streams sent."""
        return self.ask_sources(lambda api: api.begin_source_run(params))

    def abort(self) -> None:
        """Have no stream sent any more."""
        self.ask_sources(AgentApi.begin_abort).answers()

    def arm(self, params: SinkArmParams, clocks: Streams = ()) -> None:
        """Have every sink await a trial's frames; `clocks` tells of streams how far it is ahead of their sources."""

        def armed(api: AgentApi, own: Streams) -> Pending[Message]:
            ahead = convert(own, type=list[SourceClock])
            return api.begin_sink_arm(structs.replace(params, clocks=ahead))

        self._ask_sinks(armed, clocks).answers()

    def collect(self, sent: dict[str, Any], phase: str, quiet_ms: int, limit_ms: int) -> dict[str, Any]:
        """What all sinks counted, once all of a phase has come of what sources say they `sent`; see Asked.together."""
        expected = [
            {"stream": stream["stream"], "frames": phase_of(stream, phase)["frames_sent"]}
            for stream in sent["streams"]
        ]

        def collected(api: AgentApi, own: Streams) -> Pending[Message]:
            awaited = convert(own, type=list[ExpectedStream])
            params = SinkCollectParams(expected=awaited, quiet_ms=quiet_ms, limit_ms=limit_ms)
            return api.begin_sink_collect(params)

        return self._ask_sinks(collected, expected).together()

    def sink_of(self, stream: int) -> AgentApi:
        """A stream's own sink."""
        host, agent = turn_of(stream, self._sinks)
        return host.api(agent)

    def histograms(self, stream: int) -> dict[str, Any]:
        """A stream's histograms: the answer of `sink.histograms`."""
        found: dict[str, Any] = to_builtins(
            self.sink_of(stream).sink_histograms(SinkHistogramsParams(stream=stream))
        )
        return found

    def await_ready(self, frame_bytes: int, last_words: Callable[[], str]) -> None:
        """Until 200 consecutive frames at 1000 a second arrived on every stream; raises PathFailed after 10 s."""
        deadline = time.monotonic() + READY_LIMIT_S
        while True:
            runs = self._probe(frame_bytes)
            short = {stream: run for stream, run in runs.items() if run < READY_FRAMES}
            if not short:
                return
            if time.monotonic() > deadline:
                lacking = ", ".join(f"stream {stream}: {run}" for stream, run in short.items())
                raise PathFailed(
                    f"no {READY_FRAMES} consecutive frames came through within {READY_LIMIT_S:g} s ({lacking})\n"
                    f"{last_words()}"
                )

    def _probe(self, frame_bytes: int) -> dict[int, int]:
        """The longest run of consecutive frames on each stream."""
        duration_s = (READY_FRAMES + 10) / READY_FPS
        self.arm(SinkArmParams(trial=READY_TRIAL, phase="probe", frame_bytes=frame_bytes))
        run = SourceRunParams(
            trial=READY_TRIAL,
            frame_bytes=frame_bytes,
            mechanism="raw",
            intended_fps=READY_FPS,
            probe_fps=READY_FPS,
            phases=[SourcePhase(phase="probe", duration_s=duration_s)],
        )
        got = self.collect(self.run(run).together(), "probe", quiet_ms=50, limit_ms=500)
        return {stream["stream"]: stream["longest_run"] for stream in got["streams"]}

    def _ask_sinks(self, ask: Callable[[AgentApi, Streams], Pending[Message]], dealt: Streams) -> Asked:
        """Ask all sinks, each with its own of what is dealt."""
        return Asked(
            [
                (host, ask(host.api(agent), _of((host, agent), self._sinks, dealt)))
                for host, agent in self._sinks
            ]
        )


def phase_of(stream: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What a source says of one stream's phase."""
    return next(phase for phase in stream["phases"] if phase["phase"] == name)


def _of(agent: Agent, agents: Sequence[Agent], streams: Streams) -> list[Mapping[str, Any]]:
    """The streams that are an agent's."""
    return [stream for stream in streams if turn_of(stream["stream"], agents) == agent]
