"""How sources and sinks are asked: each for its own streams, all at once, and told together."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from vtax.agent_api import AgentApi, SourcePhase, SourceRunParams
from vtax.agent_message import Answer, Message, Pending
from vtax.campaign.forwarding.passage import Passage
from vtax.campaign.forwarding.path import ForwardingPath
from vtax.machine.agent import AgentGone
from vtax.machine.ownership import OwnershipRecord
from vtax.platforms import load_kind, presets
from vtax.testbed.addressing import StreamAddresses, as_source_takes_it
from vtax.testbed.dedicated import DedicatedTestbed
from vtax.testbed.host import Host
from vtax.testbed.layout import cpu_layout
from vtax.testbed.machines import Agent, OneMachine
from vtax.testbed.settings import LocalSettings


class Recorded(Host):
    """A host that keeps what its agents are asked, in the order of `log`, and tells what it is given."""

    def __init__(self, name: str, log: list[tuple[str, str, str]]) -> None:
        self.name, self.cpus, self.log = name, {"agents": [3]}, log
        self.asked: dict[str, dict[str, Any]] = {}
        self.answers: dict[str, Any] = {}

    @property
    def api(self) -> Callable[[str], AgentApi]:
        return lambda agent: AgentApi(Calls(self))

    def finish(self, method: str, timeout_s: float) -> Any:
        self.log.append((self.name, "finish", method))
        answer = self.answers.get(method, {})
        if isinstance(answer, Exception):
            raise answer
        return answer


class Calls:
    """What its agents are asked; what they answer is made up, and of no type."""

    def __init__(self, host: Recorded) -> None:
        self.host = host

    def begin(self, method: str, params: Message, answer: type[Answer]) -> Pending[Answer]:
        self.host.asked[method] = msgspec.to_builtins(params)
        self.host.log.append((self.host.name, "begin", method))

        def finish(timeout_s: float = 10.0) -> Answer:
            made_up: Answer = self.host.finish(method, timeout_s)
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


def at_sources(count: int) -> list[dict[str, Any]]:
    links = [StreamAddresses(number) for number in range(count)]
    return [as_source_takes_it(link, "src0", link.uut_in_mac, None) for link in links]


def at_sinks(count: int) -> list[dict[str, Any]]:
    return [{"stream": number, "interface": "snk0"} for number in range(count)]


RUN = SourceRunParams(
    trial=1,
    frame_bytes=64,
    mechanism="raw",
    probe_fps=10.0,
    phases=[SourcePhase(phase="measure", duration_s=1.0)],
)


def numbers(streams: list[dict[str, Any]]) -> list[int]:
    return [stream["stream"] for stream in streams]


def test_streams_take_turns_at_sources_and_sinks(ground: Ground) -> None:
    for host in ground.sinks:
        host.answers["sink.open"] = {"streams": [], "cost_ns_per_frame": 50.0}
    ground.passage.open_sources(at_sources(4))
    ground.passage.open_sinks(at_sinks(4))
    assert [numbers(host.asked["source.open"]["streams"]) for host in ground.sources] == [[0, 2], [1, 3]]
    assert [numbers(host.asked["sink.open"]["streams"]) for host in ground.sinks] == [[0, 3], [1], [2]]
    assert ground.sources[1].asked["source.open"]["cpu"] == 3
    assert ground.passage.shares == [2, 2]


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


def test_answers_are_told_together(ground: Ground) -> None:
    ground.passage.open_sources(at_sources(3))
    for host, streams in zip(ground.sources, ([2, 0], [1]), strict=True):
        phases = [{"phase": "warmup", "frames_sent": 9}, {"phase": "measure", "frames_sent": 5}]
        told = [{"stream": number, "phases": phases} for number in streams]
        host.answers["source.run"] = {"aborted": False, "streams": told}
    for number, host in enumerate(ground.sinks):
        host.answers["sink.collect"] = {"drain_ms": 2.0, "streams": [{"stream": number}]}
    sent = ground.passage.run(RUN).together()
    assert [(stream["stream"], stream["host"]) for stream in sent["streams"]] == [
        (0, "source"),
        (1, "source1"),
        (2, "source"),
    ]
    assert sent["hosts"] == [{"aborted": False, "host": "source"}, {"aborted": False, "host": "source1"}]
    got = ground.passage.collect(sent, "measure", 50, 500)
    assert ground.sinks[2].asked["sink.collect"]["expected"] == [{"stream": 2, "frames": 5}]
    assert [sink["host"] for sink in got["hosts"]] == ["sink", "sink1", "sink2"]


def test_a_source_that_is_gone_is_an_error(ground: Ground) -> None:
    ground.passage.open_sources(at_sources(2))
    ground.sources[1].answers["source.run"] = AgentGone("gen1: its stream ended during host.finish")
    with pytest.raises(AgentGone, match="gen1"):
        ground.passage.run(RUN).together()


class Apart(Recorded):
    """A host on a machine of its own, whose kernel numbers namespaces as the others' do."""

    def is_beside(self, other: Host) -> bool:
        return other is self

    def namespaces(self) -> dict[str, int]:
        return {self.name: 4026532000}


def test_drops_are_asked_of_the_machine_that_is_watched_alone() -> None:
    """Namespaces of other machines may have the same numbers."""
    source, uut, sink = (Apart(name, []) for name in ("source", "uut", "sink"))
    settings = LocalSettings(None, False, 1500, cpu_layout())
    testbed = DedicatedTestbed(settings, 1, OneMachine(OwnershipRecord("none", Path("none"))))
    testbed.sources, testbed.uut, testbed.sinks = [source], uut, [sink]
    testbed.watcher = (uut, "watch")
    place = {"netns": 4026532000, "interface": "in0", "arrived": True, "reason": "NO_SOCKET", "frames": 1}
    uut.answers["drops.read"] = {"places": [place], "lost_events": 0}
    path = ForwardingPath(presets()["raw"], load_kind("raw").Config(), testbed)
    path._try_drop_meter()
    dropped = path.dropped()
    assert dropped is not None
    assert dropped["places"][0]["interface"] == "uut/in0"
    assert uut.asked["drops.open"]["namespaces"] == [4026532000]
