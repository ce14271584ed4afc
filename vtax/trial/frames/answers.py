"""What sources sent and what sinks received in a run, all hosts together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vtax.agent_api import CollectedStream, Phase, SentPhase, SinkCollectAnswer, SourceRunAnswer


@dataclass(frozen=True)
class StreamSent:
    """What a source reports of one stream."""

    host: str
    """The source's."""
    stream: int
    cpus: Sequence[int]
    """Those whose threads sent its strands."""
    phases: Sequence[SentPhase]

    def phase(self, name: Phase = "measure") -> SentPhase:
        """Return one of the phases."""
        return next(phase for phase in self.phases if phase.phase == name)


@dataclass(frozen=True)
class Sent:
    """What each source answered, by its host, in the order in which they were asked."""

    hosts: Mapping[str, SourceRunAnswer] = field(default_factory=dict)

    @property
    def streams(self) -> list[StreamSent]:
        """All streams, by number."""
        streams = [
            StreamSent(host, stream.stream, stream.cpus, stream.phases)
            for host, answer in self.hosts.items()
            for stream in answer.streams
        ]
        return sorted(streams, key=lambda stream: stream.stream)


@dataclass(frozen=True)
class Received:
    """What each sink answered, by its host, in the order in which they were asked."""

    hosts: Mapping[str, SinkCollectAnswer] = field(default_factory=dict)

    @property
    def streams(self) -> list[CollectedStream]:
        """All streams, by number."""
        streams = (stream for answer in self.hosts.values() for stream in answer.streams)
        return sorted(streams, key=lambda stream: stream.stream)

    def stream(self, number: int) -> CollectedStream:
        """Return the stream of a number."""
        return next(stream for stream in self.streams if stream.stream == number)

    def host_of(self, number: int) -> str:
        """Return the host of a stream's sink."""
        return next(
            host
            for host, answer in self.hosts.items()
            if any(stream.stream == number for stream in answer.streams)
        )
