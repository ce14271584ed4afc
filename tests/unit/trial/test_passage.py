"""How sources and sinks are asked: each for its own streams, all at once, and told together."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec import structs

from tests.helpers.trials import make_cell, make_measured, sink_cost
from vtax.agent_api import (
    AgentApi,
    DropPlace,
    DropsReadAnswer,
    ExpectedStream,
    SinkOpenAnswer,
    SourceStream,
    StreamInterface,
)
from vtax.agent_message import Answer, Message, Nothing, Pending
from vtax.keys.frames import FrameSpec
from vtax.machine.agent import AgentGone
from vtax.platforms import load_kind, presets
from vtax.testbed.addressing import StreamAddresses, source_stream
from vtax.testbed.dedicated import dedicated
from vtax.testbed.host import Host
from vtax.testbed.layout import cpu_layout
from vtax.testbed.machines import Agent, OneMachine
from vtax.testbed.settings import LocalSettings
from vtax.testbed.testbed import Testbed
from vtax.trial.frames.answers import Sent
from vtax.trial.frames.passage import Passage
from vtax.workloads.forwarding.measure.path import ForwardingPath


class Recorded(Host):
    """A host that keeps what its agents are asked, in the order of `log`, and answers what it is given."""

    def __init__(self, name: str, log: list[tuple[str, str, str]]) -> None:
        self.name, self.cpus, self.log = name, {"agents": [3, 5, 6]}, log
        self.asked: dict[str, Any] = {}
        self.answers: dict[str, Message | Exception] = {}

    @property
    def api(self) -> Callable[[str], AgentApi]:
        return lambda agent: AgentApi(Calls(self))


class Calls:
    """The way to the agents of such a host. What has no answer of its own has nothing to answer."""

    def __init__(self, host: Recorded) -> None:
        self.host = host

    def begin(self, method: str, params: Message, answer: type[Answer]) -> Pending[Answer]:
        self.host.asked[method] = params
        self.host.log.append((self.host.name, "begin", method))

        def finish(timeout_s: float = 10.0) -> Answer:
            self.host.log.append((self.host.name, "finish", method))
            given = self.host.answers.get(method, Nothing())
            if isinstance(given, Exception):
                raise given
            made_up: Any = given
            return made_up

        return finish

    def call(self, method: str, params: Message, answer: type[Answer], timeout_s: float) -> Answer:
        return self.begin(method, params, answer)(timeout_s)


class Ground:
    """Two sources and three sinks."""

    def __init__(self) -> None:
        self.log: list[tuple[str, str, str]] = []
        self.sources = [Recorded(name, self.log) for name in ("source", "source1")]
        self.sinks = [Recorded(name, self.log) for name in ("sink", "sink1", "sink2")]
        agents: list[list[Agent]] = [
            [(host, role) for host in hosts]
            for role, hosts in (("source", self.sources), ("sink", self.sinks))
        ]
        self.passage = Passage(*agents)


@pytest.fixture
def ground() -> Ground:
    return Ground()


FRAMES = FrameSpec(64)
RUN = FRAMES.run(1, "raw", {"measure": 1.0}, intended_fps=None, probe_fps=10.0)


def at_sources(count: int) -> list[SourceStream]:
    links = [StreamAddresses(number) for number in range(count)]
    return [source_stream(link, "src0", link.uut_in_mac, FRAMES, link_mbps=None) for link in links]


def at_sinks(count: int) -> list[StreamInterface]:
    return [StreamInterface(stream=number, interface="snk0") for number in range(count)]


def numbers(streams: Sequence[SourceStream | StreamInterface]) -> list[int]:
    return [stream.stream for stream in streams]


def test_streams_take_turns_at_sources_and_sinks(ground: Ground) -> None:
    for host in ground.sinks:
        host.answers["sink.open"] = SinkOpenAnswer(streams=[], cost=sink_cost(50.0))
    ground.passage.open_sources(at_sources(4))
    ground.passage.open_sinks(at_sinks(4))
    assert [numbers(host.asked["source.open"].streams) for host in ground.sources] == [[0, 2], [1, 3]]
    assert [numbers(host.asked["sink.open"].streams) for host in ground.sinks] == [[0, 3], [1], [2]]
    assert ground.sources[1].asked["source.open"].cpus == [3]
    assert ground.passage.shares == [2, 2]


@pytest.mark.parametrize(
    ("streams", "threads", "strands"), [(4, 1, 1), (4, 2, 1), (2, 2, 2), (3, 2, 2), (8, 4, 1), (6, 3, 1)]
)
def test_threads_that_are_more_than_streams_take_strands(
    ground: Ground, streams: int, threads: int, strands: int
) -> None:
    for host in ground.sinks:
        host.answers["sink.open"] = SinkOpenAnswer(streams=[], cost=sink_cost(50.0))
    ground.passage.open_sinks(at_sinks(streams))
    ground.passage.open_sources(at_sources(streams), threads)
    asked = ground.sources[0].asked["source.open"]
    assert (asked.cpus, asked.strands) == ([3, 5, 6][:threads], strands)
    ground.passage.arm(FRAMES.arm(1, "measure"))
    assert [host.asked["sink.arm"].strands for host in ground.sinks] == [strands] * 3


def test_sources_are_opened_anew_for_other_streams_or_threads_alone(ground: Ground) -> None:
    for threads, opened in ((1, 1), (1, 1), (2, 2), (2, 2), (1, 3)):
        ground.passage.open_sources(at_sources(1), threads)
        assert [method for _, act, method in ground.log if act == "begin"].count("source.open") == opened


def test_a_source_without_streams_is_asked_nothing(ground: Ground) -> None:
    ground.passage.open_sources(at_sources(3))
    ground.passage.open_sources(at_sources(1))
    assert [name for name, _, method in ground.log if method == "source.close"].count("source1") == 2
    ground.log.clear()
    ground.passage.run(RUN).answers()
    assert {name for name, _, _ in ground.log} == {"source"}


def test_all_are_asked_before_any_is_waited_for(ground: Ground) -> None:
    ground.passage.open_sources(at_sources(2))
    ground.log.clear()
    ground.passage.run(RUN).answers()
    assert [act for _, act, _ in ground.log] == ["begin", "begin", "finish", "finish"]


def test_sinks_wait_for_the_frames_of_their_own_streams(ground: Ground) -> None:
    measured = make_measured(make_cell(streams=3), sources=2)
    ground.passage.open_sources(at_sources(3))
    for host in ground.sources:
        host.answers["source.run"] = measured.source.hosts[host.name]
    (sink,) = make_measured(make_cell()).sink.hosts.values()
    for number, host in enumerate(ground.sinks):
        streams = [structs.replace(stream, stream=number) for stream in sink.streams]
        host.answers["sink.collect"] = structs.replace(sink, streams=streams)
    sent = Sent(ground.passage.run(RUN).answers())
    assert [(stream.stream, stream.host) for stream in sent.streams] == [
        (0, "source"),
        (1, "source1"),
        (2, "source"),
    ]
    received = ground.passage.collect(sent, "measure", 50, 500)
    frames = sent.streams[2].phase().frames_sent
    expected = [ExpectedStream(stream=2, strand_frames=[frames])]
    assert ground.sinks[2].asked["sink.collect"].expected == expected
    assert [received.host_of(stream.stream) for stream in received.streams] == ["sink", "sink1", "sink2"]


def test_a_source_that_is_gone_is_an_error(ground: Ground) -> None:
    ground.passage.open_sources(at_sources(2))
    ground.sources[1].answers["source.run"] = AgentGone("gen1: its stream ended during host.finish")
    with pytest.raises(AgentGone, match="gen1"):
        ground.passage.run(RUN).answers()


class Apart(Recorded):
    """A host on a machine of its own, whose kernel numbers namespaces as the others' do."""

    def is_beside(self, other: Host) -> bool:
        return other is self

    def namespaces(self) -> dict[str, int]:
        return {self.name: 4026532000}


def test_drops_are_asked_of_the_machine_that_is_watched_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Namespaces of other machines may have the same numbers."""
    hosts = {name: Apart(name, []) for name in ("source", "uut", "sink")}
    machines = OneMachine()
    monkeypatch.setattr(machines, "host", lambda name, far: hosts[name])
    settings = LocalSettings(None, False, 1500, cpu_layout())
    testbed = Testbed(dedicated(settings, "wire", 1, machines.roles), machines)
    uut = hosts["uut"]
    testbed.watcher = (uut, "watch")
    place = DropPlace(netns=4026532000, interface="in0", arrived=True, reason="NO_SOCKET", frames=1)
    uut.answers["drops.read"] = DropsReadAnswer(places=[place], lost_events=0)
    path = ForwardingPath(presets()["raw"], load_kind("raw").Config(), testbed)
    path._try_drop_meter()
    dropped = path.dropped()
    assert dropped is not None
    assert dropped.places[0].interface == "uut/in0"
    assert uut.asked["drops.open"].namespaces == [4026532000]
