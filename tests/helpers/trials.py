"""Trials as the agents would report them, for tests of what is made of them."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

import numpy as np
from hdrh.histogram import HdrHistogram
from msgspec import structs

from tests.helpers.results.builder import encode
from vtax.agent_api import (
    CollectedStream,
    DropPlace,
    DropsReadAnswer,
    Durations,
    GuestStateAnswer,
    InterfaceState,
    PhaseFrames,
    Quantiles,
    ReceivedFlow,
    ReceiverCollectAnswer,
    ReceiverRefused,
    Reordering,
    SenderGoAnswer,
    SentFlow,
    SentPhase,
    SentStream,
    SinkCollectAnswer,
    SinkCost,
    SinkHistogramsAnswer,
    SinkLoss,
    SinkProbes,
    SinkRefused,
    SourceRunAnswer,
    SourceThread,
    TcpState,
    ThreadTime,
)
from vtax.keys.cell import Cell
from vtax.keys.lengths import Lengths
from vtax.keys.testbed import TestbedSettings
from vtax.results import Row, TrialRecord
from vtax.stages import StageTimes
from vtax.testbed.accounts import Account
from vtax.testbed.counters import InterfaceCounters
from vtax.testbed.cpu_time import Activity, CpuCounters
from vtax.testbed.guest import GUEST
from vtax.testbed.guest_state import GuestState
from vtax.testbed.machines import host_names, turn_of
from vtax.trial.endpoints.streams import Flows
from vtax.trial.frames.answers import Received, Sent
from vtax.trial.frames.measured import Measured, probe_interval
from vtax.trial.observed import Observed
from vtax.trial.verdict import Judgement
from vtax.units import fps
from vtax.workloads.forwarding.keys import Forwarding
from vtax.workloads.forwarding.measure.rows import Instrument
from vtax.workloads.forwarding.measure.trial import ForwardingTrial

SECOND_NS = 1_000_000_000
SOURCE_CPU = 0
"""That of the only thread of each source."""
INGRESS_IN0 = Account.of_ingress("in0")


def make_cell(platform: str = "raw", **workload: Any) -> Cell:
    """A cell of one stream of 1500-byte frames at 100 Mbit/s, unless told otherwise."""
    keys = {
        "kind": "forwarding",
        "streams": 1,
        "frame_bytes": 1500,
        "intended_mbps": 100.0,
        "duration_s": 1.0,
        **workload,
    }
    work = Forwarding(**{**keys, "intended_mbps": keys["intended_mbps"] or "max"})
    factors = {"platform": platform, "streams": work.streams, "frame_bytes": work.frame_bytes}
    key = " ".join(f"{name}={value}" for name, value in factors.items())
    return Cell(
        key=f"{key} intended_mbps={work.intended_mbps or 'max'}",
        factors={**factors, "intended_mbps": work.intended_mbps},
        workload=work,
        testbed=TestbedSettings(link_mbps=1000.0, flow_control=True),
        platform=platform,
        platform_overrides={},
        plot=f"platform={platform}",
    )


def make_measured(
    cell: Cell, *, offered_fps: float | None = None, received_share: float = 1.0, sources: int = 1
) -> Measured:
    """An undisturbed trial of one second; `offered_fps` is that of each stream, as intended unless told otherwise.

    Sinks are as many as `sources`.
    """
    senders, receivers = host_names("source", sources), host_names("sink", sources)
    work = cell.frame_load
    rate = offered_fps if offered_fps is not None else fps(work.intended_mbps or 1000, work.lengths.mean)
    sent = round(rate)
    probes = 0 if work.intended_fps is None else math.ceil(sent / probe_interval(work))
    measured = Measured(1, cell, datetime.now(UTC), load=work, mechanism="raw")
    received = round(sent * received_share)
    measured.source = Sent(
        {
            host: SourceRunAnswer(
                start_ns=0,
                end_ns=SECOND_NS,
                cpu_latency_held=True,
                aborted=False,
                mechanism="raw",
                threads=[
                    SourceThread(
                        cpu=SOURCE_CPU,
                        lag_ns=Quantiles(p50=50, p99=4000, max=90_000),
                        time=ThreadTime(run_ns=SECOND_NS, run_delay_ns=1_000_000),
                        others=[],
                    )
                ],
                streams=[
                    SentStream(stream=stream, cpus=[SOURCE_CPU], phases=[_phase(sent, probes)])
                    for stream in range(cell.streams)
                    if turn_of(stream, senders) == host
                ],
            )
            for host in senders
        }
    )
    measured.sink = Received(
        {
            host: SinkCollectAnswer(
                drain_ms=3.0,
                ended="complete",
                streams=[
                    _collected(stream, work.lengths, received, max(0, sent - received))
                    for stream in range(cell.streams)
                    if turn_of(stream, receivers) == host
                ],
            )
            for host in receivers
        }
    )
    measured.times = {stream: _times() for stream in range(cell.streams)}
    before: CpuCounters = {
        "at_s": 0.0,
        "idle_s": {1: 0.0},
        "steal_s": {1: 0.0},
        "machine": {"idle_s": {1: 0.0}, "steal_s": {1: 0.0}},
        "threads": [{"account": INGRESS_IN0, "run_ns": 0, "wait_ns": 0, "runs": 0}],
        "apart": [],
    }
    after: CpuCounters = {
        "at_s": 1.0,
        "idle_s": {1: 0.6},
        "steal_s": {1: 0.0},
        "machine": {"idle_s": {1: 0.6}, "steal_s": {1: 0.0}},
        "threads": [{"account": INGRESS_IN0, "run_ns": 700 * sent * cell.streams, "wait_ns": 0, "runs": 0}],
        "apart": [],
    }
    measured.cpu = (before, after)
    ways = [
        way
        for stream in range(cell.streams)
        for way in (
            (f"{turn_of(stream, senders)}/src{stream}", (0, sent)),
            (f"uut/in{stream}", (sent, 0)),
            (f"uut/out{stream}", (0, received)),
            (f"{turn_of(stream, receivers)}/snk{stream}", (received, 0)),
        )
    ]
    measured.interfaces = (
        {name: _frames(name, 0, 0) for name, _ in ways},
        {name: _frames(name, *taken) for name, taken in ways},
    )
    measured.drops = (DropsReadAnswer(places=[], lost_events=0), DropsReadAnswer(places=[], lost_events=0))
    measured.interference = (_surroundings(0.0), _surroundings(1.5))
    measured.beside_uut = frozenset(("uut", *senders, *receivers))
    measured.guests = {GUEST: (_guest(), _guest())}
    measured.wall_s = 1.5
    return measured


def judge(measured: Measured) -> Judgement:
    """The judgement of a trial of frames."""
    return ForwardingTrial(measured, Instrument()).judgement()


def record(
    measured: Measured, place: Row, instrument: Instrument | None = None, machine: str = "local"
) -> TrialRecord:
    """All rows of a trial of frames."""
    trial = ForwardingTrial(measured, instrument or Instrument())
    return trial.record(trial.judgement(), place, machine)


def headline(measured: Measured) -> str:
    """The headline of a trial of frames."""
    return ForwardingTrial(measured, Instrument()).headline()


def _surroundings(at_s: float) -> Activity:
    return {"at_s": at_s, "clock_offset_ns": 10**18, "others": {}, "throttled_s": {}}


def _guest() -> GuestState:
    nics = [make_nic(f"eth{number}", f"02:00:00:00:00:0{number}") for number in range(2)]
    return GuestState.told(GuestStateAnswer(interfaces=nics, clock_offset_ns=10**18, oom_kills=0), "")


def sink_cost(counted_ns: float, timed_ns: float | None = None, probe_ns: float | None = None) -> SinkCost:
    """What a frame costs a sink: as much whatever is done with it, unless told otherwise."""
    timed_ns = counted_ns if timed_ns is None else timed_ns
    return SinkCost(
        counted_ns=counted_ns, timed_ns=timed_ns, probe_ns=timed_ns if probe_ns is None else probe_ns
    )


def make_nic(interface: str, mac: str, **counted: int) -> InterfaceState:
    """A guest's interface that is ready; counters that are not named are 0."""
    counters = dict.fromkeys(("received", "sent", "dropped_in", "dropped_out", "dropped_queue"), 0)
    return InterfaceState(interface=interface, mac=mac, ready=True, **{**counters, **counted})


def otherwise(state: GuestState, **changes: Any) -> GuestState:
    """A guest's state with other fields, of its own or of what its agent answered."""
    answered = {name: changes.pop(name) for name in GuestStateAnswer.__struct_fields__ if name in changes}
    assert state.answer is not None
    return structs.replace(state, answer=structs.replace(state.answer, **answered), **changes)


def change_guest(measured: Observed, name: str = GUEST, **after: Any) -> None:
    """Have a guest stand otherwise after the trial."""
    before, stood = measured.guests[name]
    measured.guests[name] = (before, otherwise(stood, **after))


def change_source(measured: Measured, host: str = "source", **changes: Any) -> None:
    """Have a source answer otherwise."""
    hosts = measured.source.hosts
    measured.source = Sent({**hosts, host: structs.replace(hosts[host], **changes)})


def change_thread(measured: Measured, host: str = "source", **changes: Any) -> None:
    """Have the first thread of a source answer otherwise."""
    first, *others = measured.source.hosts[host].threads
    change_source(measured, host, threads=[structs.replace(first, **changes), *others])


def change_times(measured: Measured, host: str = "source", **times_ns: int) -> None:
    """Have the first thread of a source run, or wait for its CPU, for another time."""
    time = measured.source.hosts[host].threads[0].time
    assert time is not None
    change_thread(measured, host, time=structs.replace(time, **times_ns))


def change_lateness(measured: Measured, p99_ns: int) -> None:
    """Have departures of the first source be that late."""
    lag_ns = measured.source.hosts["source"].threads[0].lag_ns
    assert lag_ns is not None
    change_thread(measured, lag_ns=structs.replace(lag_ns, p99=p99_ns))


def change_phase(measured: Measured, stream: int = 0, **changes: Any) -> None:
    """Have the source of a stream report another measured phase."""
    (host,) = (each.host for each in measured.source.streams if each.stream == stream)
    streams = [
        structs.replace(each, phases=[structs.replace(phase, **changes) for phase in each.phases])
        if each.stream == stream
        else each
        for each in measured.source.hosts[host].streams
    ]
    change_source(measured, host, streams=streams)


def change_sink(measured: Measured, host: str = "sink", **changes: Any) -> None:
    """Have a sink answer otherwise."""
    hosts = measured.sink.hosts
    measured.sink = Received({**hosts, host: structs.replace(hosts[host], **changes)})


def change_received(measured: Measured, stream: int = 0, **changes: Any) -> None:
    """Have the sink of a stream report other counts of it."""
    host = measured.sink.host_of(stream)
    streams = [
        structs.replace(each, **changes) if each.stream == stream else each
        for each in measured.sink.hosts[host].streams
    ]
    change_sink(measured, host, streams=streams)


def add_drop(measured: Measured, place: tuple[str, bool], reason: str, frames: int) -> None:
    """Have the kernel report that it dropped frames in the trial, at an interface (host/name) or on the way there."""
    assert measured.drops is not None
    before, after = measured.drops
    interface, arrived = place
    drop = DropPlace(interface=interface, arrived=arrived, reason=reason, frames=frames, netns=1)
    measured.drops = (before, structs.replace(after, places=[*after.places, drop]))


def _phase(sent: int, probes: int) -> SentPhase:
    return SentPhase(
        phase="measure",
        frames_sent=sent,
        strand_frames=[sent],
        probes_sent=probes,
        probes_refused=0,
        send_errors=0,
        blocked=0,
        waits=0,
        waited_ns=0,
        unsent=None,
        sends=sent,
        longest_burst=1,
        start_ns=0,
        end_ns=SECOND_NS,
        first_ns=10,
        last_ns=SECOND_NS - 10,
    )


def _collected(stream: int, lengths: Lengths, received: int, lost: int) -> CollectedStream:
    return CollectedStream(
        stream=stream,
        attached=True,
        phases=PhaseFrames(probe=0, warmup=0, measure=received),
        received=received,
        received_bytes=lengths.bytes_of(received),
        duplicated=0,
        reordered=0,
        reordering=Reordering(extent_mean=None, extent_max=None, extents_cut=0, displaced=0),
        loss=SinkLoss(periods=int(lost > 0), longest=lost),
        longest_run=received,
        first_ns=20,
        last_ns=SECOND_NS,
        refused=SinkRefused(length=0, trial=0, stream=0, foreign=0),
        probes=SinkProbes(received=0, duplicated=0),
        latency=Durations(
            count=1000,
            min_ns=3000,
            mean_ns=5000.0,
            p50_ns=4900,
            p90_ns=6000,
            p99_ns=9000,
            p999_ns=None,
            max_ns=20_000,
            histogram=_histogram(1000),
        ),
    )


def _times() -> SinkHistogramsAnswer:
    untold = Durations(
        count=0,
        min_ns=None,
        mean_ns=None,
        p50_ns=None,
        p90_ns=None,
        p99_ns=None,
        p999_ns=None,
        max_ns=None,
        histogram="",
    )
    return SinkHistogramsAnswer(
        ipdv_positive=structs.replace(untold, count=600, histogram=_histogram(600)),
        ipdv_negative=structs.replace(untold, count=500, histogram=_histogram(500)),
        gap=structs.replace(
            untold, count=1, p50_ns=122_000, p99_ns=130_000, max_ns=2_000_000, histogram=_histogram(1)
        ),
        since_departure=structs.replace(
            untold,
            count=1000,
            mean_ns=4000.0,
            p50_ns=4000,
            p90_ns=4800,
            p99_ns=5000,
            max_ns=5000,
            histogram=_histogram(1000),
        ),
        lateness=structs.replace(
            untold,
            count=1000,
            mean_ns=60.0,
            p50_ns=50,
            p90_ns=90,
            p99_ns=4000,
            max_ns=4500,
            histogram=_histogram(1000),
        ),
    )


@cache
def _histogram(samples: int) -> str:
    """Delays of 3 to 5 µs in HdrHistogram's V2 encoding."""
    histogram = HdrHistogram(1, 10**9, 3)
    for sample in range(samples):
        histogram.record_value(3000 + 2 * sample)
    return str(histogram.encode().decode())


def _frames(name: str, received: int, sent: int) -> InterfaceCounters:
    return {
        "name": name.partition("/")[2],
        "kind": "veth",
        "received": received,
        "sent": sent,
        "dropped_in": 0,
        "dropped_out": 0,
        "dropped_queue": 0,
        "dropped_port": 0,
        "held_back": 0,
    }


def make_flows(start_ns: int) -> Flows:
    """One connection that carried 100 Mbit/s for a second."""
    tcp = TcpState(
        congestion="cubic",
        cwnd_segments=10,
        min_rtt_us=1000,
        mss_bytes=1448,
        retransmissions=3,
        rtt_us=1500,
        rttvar_us=100,
    )
    sent = SentFlow(
        flow=0,
        messages=191,
        bytes=12_500_000,
        send_errors={},
        problem=None,
        tcp=tcp,
        sctp=None,
        send_buffer_bytes=87_040,
    )
    received = ReceivedFlow(
        flow=0,
        bytes=12_500_000,
        warmup_bytes=0,
        goodput_mbps=100.0,
        messages=190,
        lost=None,
        duplicated=None,
        reordered=None,
        first_ns=start_ns,
        last_ns=start_ns + SECOND_NS,
        problem=None,
        receive_buffer_bytes=131_072,
    )
    came = ReceiverCollectAnswer(
        first_arrival_ns=start_ns,
        drain_ms=1.0,
        ended="complete",
        refused=ReceiverRefused(flow=0, foreign=0, surplus=0, trial=0),
        buffer_drops=None,
        flows=[received],
    )
    run = SenderGoAnswer(
        start_ns=start_ns,
        end_ns=start_ns + SECOND_NS,
        aborted=False,
        broken=0,
        thread=None,
    )
    return Flows(run, [sent], came, [[1_250_000] * 10])


def make_durations(times_ns: Sequence[int]) -> Durations:
    """Times as an agent sums them up; quantiles are left to who reads the histogram."""
    quantiles: dict[str, int | None] = dict.fromkeys(("p50_ns", "p90_ns", "p99_ns", "p999_ns"))
    return Durations(
        count=len(times_ns),
        min_ns=int(min(times_ns)) if len(times_ns) else None,
        mean_ns=sum(map(int, times_ns)) / len(times_ns) if len(times_ns) else None,
        max_ns=int(max(times_ns)) if len(times_ns) else None,
        histogram=encode(np.array(times_ns, int)),
        **quantiles,
    )


def times(count: int, mean_ns: float) -> StageTimes:
    values = dict.fromkeys(("min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns"), mean_ns)
    return StageTimes(count=count, sum_ns=round(count * mean_ns), histogram="", **values)
