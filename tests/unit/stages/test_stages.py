"""Trails of hooks along the ways of packets, and what a traced trial makes of them."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np
import pytest

from tests.helpers.results.builder import encode
from tests.helpers.trials import times
from vtax.agent_api import MOST_TRAIL_POINTS, AgentApi, StagesOpenParams, StagesPoint
from vtax.agent_message import CALL_TIMEOUT_S, Answer, Message, Pending
from vtax.inputs import InputError
from vtax.platforms import presets
from vtax.scenario import load_scenario
from vtax.stages import (
    Arrives,
    Event,
    Gap,
    Interface,
    Leaves,
    Place,
    Reading,
    StageMeter,
    TrailReading,
    trail,
)
from vtax.stages.hooks import ARRIVING, GUEST, LEAVING, STACK, SWITCH
from vtax.trial.observed import Observed
from vtax.trial.stage_rows import packet_rows, stage_rows, unattributed_row
from vtax.trial.tracing.path import TracePath
from vtax.trial.tracing.tracer import Traced
from vtax.workloads.requests.keys import Requests

HOST, FAR, INSIDE = "/run/netns/uut", "/run/netns/source", "/run/netns/guest"
LINK = Interface("wire", Place("in0", HOST), Place("src0", FAR))
OUT = Interface("wire", Place("out0", HOST), Place("snk0", FAR))
TAP = Interface("tap", Place("guestp0", HOST))
VETH = Interface("veth", Place("guestp0", HOST), Place("eth0", INSIDE))
TO_GUEST = [Arrives(LINK, "rx"), Gap(SWITCH, "rx"), Leaves(TAP, "rx")]
FROM_GUEST = [Arrives(TAP, "tx"), Gap(SWITCH, "tx"), Leaves(LINK, "tx")]


def labels(parts: list[Any]) -> list[str]:
    return [stage.label for stage in trail("way", "through", parts).stages]


def test_the_papers_components_follow_one_another_in_both_directions() -> None:
    assert labels(TO_GUEST) == ["rx driver", "rx switch", "rx kernel", "rx wake-up", "rx backend"]
    assert labels(FROM_GUEST) == ["tx backend", "tx switch", "tx kernel", "tx driver"]


def test_a_container_is_seen_on_both_sides_of_its_veth_pair() -> None:
    points = trail("way", "rx", [Arrives(LINK, "rx"), Gap(SWITCH, "rx"), Leaves(VETH, "rx")]).points
    assert [(point.hook, point.place.name) for point in points] == [
        ("arrive", "in0"),
        ("receive", "in0"),
        ("queue", "guestp0"),
        ("transmit", "guestp0"),
        ("receive", "eth0"),
    ]
    assert points[-1].as_param() == StagesPoint(hook="receive", netns=INSIDE, interface="eth0")


def test_a_bare_host_has_its_driver_and_its_stack_only() -> None:
    assert labels([Arrives(LINK, "rx")]) == ["rx driver"]
    through = [
        Arrives(LINK, "rx", from_source=True),
        Gap(STACK, "through"),
        Leaves(OUT, "tx", into_sink=True),
    ]
    assert labels(through) == ["rx source", "rx link", "rx driver", "through stack", "tx kernel", "tx sink"]


def test_through_a_guest_every_stage_has_a_name_of_its_own_and_the_agent_has_room_for_all() -> None:
    parts = [
        Arrives(LINK, "rx", from_source=True),
        Gap(SWITCH, "rx"),
        Leaves(TAP, "rx"),
        Gap(GUEST, "through"),
        Arrives(replace(TAP, own=Place("guestp1", HOST)), "tx"),
        Gap(SWITCH, "tx"),
        Leaves(OUT, "tx", into_sink=True),
    ]
    through = trail("way", "through", parts)
    param = through.as_param()
    assert len(param.points) == len(param.stages) + 1 <= MOST_TRAIL_POINTS
    assert len(set(param.stages)) == len(param.stages)
    assert (through.points[0].place.name, through.points[-1].place.name) == ("src0", "snk0")


def test_one_hook_alone_shows_no_delay() -> None:
    with pytest.raises(ValueError, match="from veth0: one hook alone shows no delay"):
        trail("from veth0", "tx", [Arrives(replace(VETH, far=None), "tx")])


def test_every_platform_says_what_its_nics_are() -> None:
    kinds = {preset.platform().nic for preset in presets().values()}
    assert kinds <= ARRIVING.keys() == LEAVING.keys()
    wired = {name for name, preset in presets().items() if preset.platform().nic == "wire"}
    assert wired == {"raw", "attached", "esxi-e1000", "esxi-vmxnet3"}


class Agent:
    """Answers as an agent does whose replies hold two stages and one packet at a time."""

    agent = "played"

    def __init__(self) -> None:
        self.asked: list[tuple[str, Message]] = []

    def call(self, method: str, params: Message, answer: type[Answer], timeout_s: float) -> Answer:
        self.asked.append((method, params))
        return msgspec.convert(self._answer(method, msgspec.to_builtins(params)), type=answer)

    def begin(self, method: str, params: Message, answer: type[Answer]) -> Pending[Answer]:
        return lambda timeout_s=CALL_TIMEOUT_S: self.call(method, params, answer, timeout_s)

    def _answer(self, method: str, params: dict[str, Any]) -> Any:
        if method == "stages.packets":
            first = params["first"]
            packets = [{"trail": 0, "identity": f"{first:016x}", "at_ns": [1, 2, 3, 4, 5]}]
            return {"kept": 3, "packets": packets[: 3 - first]}
        if method == "stages.open":
            return {"attach": "fentry", "hooks": []}
        if method != "stages.collect":
            return {}
        times = told_times(1)
        stages = [{"name": label, **times} for label in ("tx backend", "tx switch", "tx kernel", "tx driver")]
        return {
            "name": "from guest",
            "followed": 5,
            "attributed": 1,
            "unattributed": 4,
            "lost_events": 0,
            "hooks": [{"hook": "queue", "hits": 7, "ns": 90.0}, {"hook": "copy", "hits": 0, "ns": None}],
            "gone": [],
            "points": [{"frames": 1, "hook": "queue", "interface": "in0"}] * 5,
            "total": times,
            "stages": stages[params["first"] : params["first"] + 2],
        }


def told_times(count: int) -> dict[str, Any]:
    quantiles = dict.fromkeys(("min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"), 1000)
    histogram = encode(np.full(count, 1000))
    return {"count": count, "sum_ns": 1000 * count, **quantiles, "histogram": histogram}


def test_the_meter_asks_until_it_has_every_stage_and_every_packet() -> None:
    agent = Agent()
    meter = StageMeter(AgentApi(agent))
    way = trail("from guest", "tx", FROM_GUEST)
    meter.open([way], every=8, follow="headers", packets=3)
    expected = StagesOpenParams(trails=[way.as_param()], sample_every=8, follow="headers", packets=3)
    assert agent.asked[0][1] == expected
    reading = meter.read()
    assert [times.count for times in reading.trails[0].stages] == [1, 1, 1, 1]
    assert reading.hooks == {"queue": (7, 90.0), "copy": (0, None)}
    assert len(meter.events()) == 3
    meter.close()
    meter.close()
    assert [method for method, _ in agent.asked].count("stages.close") == 1


def traced(count: int = 50) -> Observed:
    """A trial whose packets took 1 to 5 µs in the stages to a guest, and 1 to 4 in those from it."""
    (cell,) = load_scenario("oljira2016/breakdown").override(platforms=["uml"]).cells()
    ways = [
        TracePath("uut", 0, trail("uut guest rx", "rx", TO_GUEST)),
        TracePath("uut", 0, trail("uut guest tx", "tx", FROM_GUEST)),
    ]
    readings = []
    for way in ways:
        stages = tuple(times(count, 1000.0 * (place + 1)) for place in range(len(way.trail.stages)))
        total = times(count, sum(stage.mean_ns or 0 for stage in stages))
        readings.append(TrailReading(way.trail, total, stages, (count,) * len(way.trail.points)))
    events = [
        Event(ways[1].trail, "b", (100, 110, 120, 130, 140)),
        Event(ways[0].trail, "a", (10, 20, 30, 40, 50, 60)),
    ]
    hooks: dict[str, tuple[int, float | None]] = {
        "queue": (30, 100.0),
        "write": (10, 60.0),
        "copy": (9, None),
    }
    reading = Reading(tuple(readings), 2 * count + 3, 3, 0, hooks, ())
    return Observed(7, cell, datetime.now(UTC), traced=Traced(ways, reading, events))


def test_stages_are_rows_that_add_up_to_their_total() -> None:
    rows = stage_rows(traced())
    assert len(rows) == 6 + 5
    for way in ("uut guest rx", "uut guest tx"):
        *stages, total = [row for row in rows if row["way"] == way]
        assert sum(row["mean_ns"] for row in stages) == total["mean_ns"]
        assert [row["position"] for row in stages] == list(range(len(stages)))
        assert (total["stage"], total["direction"]) == ("total", way[-2:])
    assert {(row["strayed"], row["hook_ns"]) for row in rows} == {(3, 90.0)}
    # 50 packets tell of a median, not of the 90th percentile.
    assert {(row["p50_ns"] is None, row["p90_ns"] is None) for row in rows} == {(False, True)}


def test_what_no_stage_has_is_unattributed() -> None:
    measured = traced()
    (row,) = unattributed_row(measured, 100_000.0, lambda way: way.trail.direction)
    assert (row["stage"], row["mean_ns"]) == ("unattributed", 100_000 - 15_000 - 10_000)
    # Ways side by side count once, in their mean.
    (row,) = unattributed_row(measured, 100_000.0, lambda _: None)
    assert row["mean_ns"] == 100_000 - 12_500
    assert unattributed_row(traced(count=0), 100_000.0, lambda way: way.trail.direction) == []


def test_packets_are_rows_by_the_moment_they_came() -> None:
    rows = packet_rows(traced())
    assert [row["packet"] for row in rows] == [1] * 5 + [0] * 6
    assert [row["function"] for row in rows[:5]] == ["write", "receive", "queue", "transmit", "arrive"]
    assert [row["stage"] for row in rows[:2]] == [None, "tx backend"]
    assert {row["interface"] for row in rows[5:]} == {"in0", "guestp0"}


def test_a_trial_that_is_not_traced_has_neither() -> None:
    measured = replace(traced(), traced=None)
    assert stage_rows(measured) == packet_rows(measured) == []
    assert unattributed_row(measured, 1.0, lambda _: None) == []


@pytest.mark.parametrize(
    ("scenario", "sets", "said"),
    [
        ("schlosser2011/dedicated", ["workload.streams=5"], "streams: more ways than are followed at once"),
        ("anhalt2009/forwarding", ["guests=8"], "guests: more ways than are followed at once"),
        ("examples/search", [], "workload.trace: a traced trial has none of the values"),
        ("examples/precision", [], "workload.trace: a traced trial has none of the values"),
    ],
)
def test_what_cannot_be_traced_is_refused(scenario: str, sets: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_scenario(scenario).override(sets=[*sets, "workload.trace=stages"])


def test_the_papers_breakdowns_are_traced() -> None:
    """Tables I and II with Figure 6, and Figure 9: one minute, ten repetitions, TCP."""
    between, beside = (load_scenario(f"oljira2016/breakdown{name}") for name in ("", "-co-located"))
    assert {cell.testbed.guests for cell in beside.cells()} == {1, 2, 3, 4}
    for scenario in (between, beside):
        works = [cell.of(Requests) for cell in scenario.cells()]
        assert scenario.repetitions == 10
        assert {(work.transport, work.duration_s, work.is_traced) for work in works} == {("tcp", 60.0, True)}
