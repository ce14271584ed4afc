"""A trial as rows."""

import pytest
from msgspec import structs

from tests.helpers.trials import (
    SECOND_NS,
    change_phase,
    change_received,
    change_source,
    change_thread,
    change_times,
    headline,
    make_cell,
    make_measured,
    record,
    sink_cost,
)
from vtax.agent_api import Pauses, ProcessTime, SinkLoss, ThreadTime
from vtax.testbed.accounts import Account
from vtax.testbed.cpu_time import ForeignProcess
from vtax.testbed.guest import GUEST
from vtax.trial.frames.measured import probe_interval
from vtax.units import fps
from vtax.workloads.forwarding.measure.hops import hops
from vtax.workloads.forwarding.measure.rows import Instrument

PLACE = {"block": 0, "position": 3, "repetition": 0, "attempt": 0, "accelerator": "none", "emulated": False}
INSTRUMENT = Instrument(sink_costs={"sink": sink_cost(51.0)})


def test_rates_and_loss_follow_from_counts() -> None:
    cell = make_cell(streams=2)
    measured = make_measured(cell, received_share=0.75)
    rows = record(measured, PLACE, INSTRUMENT, "local")
    assert [flow["stream"] for flow in rows.flows] == [0, 1]
    flow = rows.flows[0]
    assert flow["offered_mbps"] == pytest.approx(100, rel=1e-3)
    assert flow["received_mbps"] == pytest.approx(75, rel=1e-3)
    assert flow["loss_ratio"] == pytest.approx(0.25, rel=1e-3)
    assert flow["frames_lost"] == flow["frames_sent"] - flow["frames_received"]
    assert rows.trial["overhead_s"] == pytest.approx(1.5 - cell.workload.warmup_s - 1.0 - 0.003)


def test_an_offered_rate_above_the_ceiling_is_recorded() -> None:
    measured = make_measured(make_cell(streams=2, frame_bytes=64, intended_mbps=None), offered_fps=510_960)
    instrument = Instrument(ceiling_fps=547_880.0)
    trial = record(measured, PLACE, instrument, "local").trial
    assert trial["ceiling_fps"] == 547_880
    assert trial["ceiling_share"] == pytest.approx(2 * 510_960 / 547_880)
    measured.failure = "source: gone"
    trial = record(measured, PLACE, instrument, "local").trial
    assert trial.get("ceiling_share") is None


def test_the_pauses_of_the_source_that_had_most_stand_with_the_trial() -> None:
    measured = make_measured(make_cell(streams=2), sources=2)
    trial = record(measured, PLACE, INSTRUMENT, "local").trial
    assert (trial["paused_share"], trial["longest_pause_ns"]) == (None, None)
    change_thread(
        measured, "source", pauses=Pauses(count=2, longest_ns=9_000, paused_ns=15_000, watched_ns=10**8)
    )
    change_thread(measured, "source1", pauses=Pauses(count=0, longest_ns=0, paused_ns=0, watched_ns=0))
    trial = record(measured, PLACE, INSTRUMENT, "local").trial
    assert (trial["paused_share"], trial["longest_pause_ns"]) == (pytest.approx(1.5e-4), 9_000)


def test_what_each_source_did_stands_with_its_streams() -> None:
    measured = make_measured(make_cell(streams=3), sources=2)
    change_times(measured, "source1", run_ns=SECOND_NS // 4, run_delay_ns=SECOND_NS // 20)
    change_phase(measured, 1, waited_ns=7 * SECOND_NS // 10, unsent=40)
    change_phase(measured, 2, waited_ns=None)
    rows = record(
        measured,
        PLACE,
        Instrument(sink_costs={"sink": sink_cost(50.0), "sink1": sink_cost(100.0)}),
        "local",
    )
    assert [flow["waited_share"] for flow in rows.flows] == [0, 0.7, None]
    assert [flow["frames_unsent"] for flow in rows.flows] == [None, 40, None]
    assert [flow["source_cpu_share"] for flow in rows.flows] == [1, 0.25, 1]
    threads = {
        row["host"]: row for row in rows.cpu if (row["domain"], row["component"]) == ("source", "thread")
    }
    assert (threads["source1"]["percent"], threads["source1"]["wait_percent"]) == (25, pytest.approx(5))


def test_a_kernel_that_does_not_account_for_threads_leaves_their_share_unknown() -> None:
    measured = make_measured(make_cell())
    change_thread(measured, time=None)
    (flow,) = record(measured, PLACE, INSTRUMENT, "local").flows
    assert (flow["waited_share"], flow["source_cpu_share"]) == (0, None)


def test_what_others_had_of_the_sources_cpu_is_known_where_the_machine_is_the_uuts() -> None:
    """Of those whose processes are listed there, vtax's own are not: 60 ms of a second are another's."""
    measured = make_measured(make_cell())
    had = [("stress", 7, 60_000_000), ("vtax", 8, 30_000_000), ("kworker/0:1", 20, 90_000_000)]
    others = [
        ProcessTime(comm=comm, kernel=comm.startswith("kworker"), pid=pid, run_ns=run_ns)
        for comm, pid, run_ns in had
    ]
    change_thread(measured, others=others)
    assert measured.interference is not None
    stress: ForeignProcess = {"name": "stress", "pid": 7, "cpu": 1, "cpu_s": 1.0}
    measured.interference[1]["others"]["7.99"] = stress

    def share() -> object:
        rows = record(measured, PLACE, INSTRUMENT, "local").cpu
        whose = ("source", "foreign")
        return next((row["percent"] for row in rows if (row["domain"], row["component"]) == whose), None)

    assert share() == pytest.approx(6)
    measured.beside_uut = frozenset({"uut"})
    assert share() is None
    measured.beside_uut = frozenset({"source"})
    change_thread(measured, others=None)
    assert share() is None


def test_cpu_rows_keep_the_sinks_cost_apart() -> None:
    measured = make_measured(make_cell())
    rows = record(measured, PLACE, INSTRUMENT, "local")
    percent = {(row["host"], row["domain"], row["component"]): row["percent"] for row in rows.cpu}
    assert percent["uut", "host", "total"] == pytest.approx(40)
    assert percent["sink", "sink", "calibrated"] == pytest.approx(8202 * 51 / 1e7)
    assert percent["uut", "host", "ingress in0"] == pytest.approx(8202 * 700 / 1e7)


def test_a_sink_is_charged_by_what_it_did_with_each_frame() -> None:
    """Of a paced load each frame's gap is filed, a probe's delay too; a flood's probes go beside what is counted."""
    cost = sink_cost(10.0, 50.0, 200.0)
    for paced, other_ns in ((True, 50), (False, 10)):
        measured = make_measured(make_cell() if paced else make_cell(intended_mbps=None), offered_fps=8_000)
        (stream,) = measured.sink.streams
        change_received(measured, 0, latency=structs.replace(stream.latency, count=1_000))
        others = stream.received - (1_000 if paced else 0)
        rows = record(measured, PLACE, Instrument(sink_costs={"sink": cost}), "local").cpu
        (percent,) = (row["percent"] for row in rows if row["domain"] == "sink")
        assert percent == pytest.approx((others * other_ns + 1_000 * 200) / measured.window_s / 1e7)


@pytest.mark.parametrize(
    ("beside_uut", "run_ns", "component"),
    [
        ({"uut", "sink"}, 700 * 8202, "calibrated"),
        ({"uut"}, 700 * 8202, "calibrated elsewhere"),
        ({"uut", "sink"}, 0, "calibrated elsewhere"),
    ],
    ids=["on the UUT's CPUs", "on another machine", "in the sender's context"],
)
def test_a_sink_s_time_is_the_platforms_only_where_it_runs_on_its_cpus(
    beside_uut: set[str], run_ns: int, component: str
) -> None:
    measured = make_measured(make_cell())
    measured.beside_uut = frozenset(beside_uut)
    assert measured.cpu is not None
    for thread in measured.cpu[1]["threads"]:
        thread["run_ns"] = run_ns
    rows = record(measured, PLACE, INSTRUMENT, "local").cpu
    assert [row["component"] for row in rows if row["domain"] == "sink"] == [component]


def test_a_lost_probe_is_later_than_every_other() -> None:
    """Half of the probes arrive: their median is the largest delay seen, and the 90th percentile is unknown."""
    measured = make_measured(make_cell(intended_mbps=None), offered_fps=10_000)
    change_phase(measured, probes_sent=2100)
    (flow,) = record(measured, PLACE, INSTRUMENT, "local").flows
    assert (flow["probes_sent"], flow["latency_count"]) == (2100, 1000)
    assert flow["latency_p50_ns"] is None
    assert flow["latency_max_ns"] is None
    change_phase(measured, probes_sent=1250)
    (flow,) = record(measured, PLACE, INSTRUMENT, "local").flows
    assert flow["latency_p50_ns"] == pytest.approx(3000 + 2 * 625, rel=0.01)
    assert flow["latency_p90_ns"] is None


def test_delay_variation_is_told_with_enough_probes() -> None:
    """PDV of 1000 delays of 3 to 5 µs, one of each 8 frames; IPDV of 1100 pairs that differ by as much."""
    measured = make_measured(make_cell(intended_mbps=8000 * 8 * 1524 / 1e6))
    rows = record(measured, PLACE, INSTRUMENT, "local")
    (flow,) = rows.flows
    assert flow["pdv_p99_ns"] == flow["latency_p99_ns"] - 3000 == pytest.approx(2 * 989, abs=40)
    assert flow["pdv_p999_ns"] is None
    assert flow["ipdv_count"] == 1100
    assert flow["ipdv_p99_ns"] == pytest.approx(3000 + 2 * 589, rel=0.01)
    assert flow["ipdv_p999_ns"] is None
    assert flow["gap_max_ns"] == 2_000_000
    kinds = {row["kind"]: row["lost"] for row in rows.latency}
    assert kinds == {
        "gap": None,
        "lateness": None,
        "one-way": 0,
        "since-departure": None,
        "ipdv-positive": None,
        "ipdv-negative": None,
    }


def test_loss_is_what_the_sink_says_of_it() -> None:
    measured = make_measured(make_cell(), received_share=0.75)
    (flow,) = record(measured, PLACE, INSTRUMENT, "local").flows
    assert (flow["loss_periods"], flow["longest_loss_frames"]) == (1, flow["frames_lost"])
    change_received(measured, loss=SinkLoss(periods=7, longest=None))
    (flow,) = record(measured, PLACE, INSTRUMENT, "local").flows
    assert (flow["loss_periods"], flow["longest_loss_frames"]) == (7, None)
    complete = make_measured(make_cell())
    (flow,) = record(complete, PLACE, INSTRUMENT, "local").flows
    assert (flow["loss_periods"], flow["longest_loss_frames"]) == (0, 0)


def test_a_stream_of_two_threads_stands_with_both() -> None:
    measured = make_measured(make_cell(source_threads=2, flows=2))
    first, second = 6 * SECOND_NS // 10, 3 * SECOND_NS // 10
    (thread,) = measured.source.hosts["source"].threads
    threads = [
        structs.replace(thread, cpu=cpu, time=ThreadTime(run_ns=run_ns, run_delay_ns=SECOND_NS // 50))
        for cpu, run_ns in ((0, first), (1, second))
    ]
    (stream,) = measured.source.hosts["source"].streams
    change_source(measured, threads=threads, streams=[structs.replace(stream, cpus=[0, 1])])
    change_phase(measured, waited_ns=SECOND_NS // 2, strand_frames=[3, 4])
    rows = record(measured, PLACE, INSTRUMENT, "local")
    (flow,) = rows.flows
    assert flow["source_cpus"] == "0 1"
    assert (flow["waited_share"], flow["source_cpu_share"]) == (0.25, pytest.approx(0.45))
    (cpu,) = (row for row in rows.cpu if row["domain"] == "source" and row["component"] == "thread")
    assert (cpu["percent"], cpu["wait_percent"]) == (pytest.approx(90), pytest.approx(4))


def test_probes_are_counted_as_the_source_sends_them() -> None:
    """The source rounds halves up: at 2500 frames a second every third is a probe."""
    mbps_of = 2500 * 8 * 1524 / 1e6
    assert probe_interval(make_cell(intended_mbps=mbps_of).frame_load) == 3
    assert probe_interval(make_cell(intended_mbps=mbps_of / 10).frame_load) == 1
    assert probe_interval(make_cell(intended_mbps=None).frame_load) == 1
    mix = make_cell(frame_bytes="1:64 1:100", intended_mbps=2500 * 8 * (82 + 24) / 1e6)
    assert probe_interval(mix.frame_load) == 3


def test_delay_in_the_sources_own_queue_is_not_given() -> None:
    measured = make_measured(make_cell(intended_mbps=1000.0))
    rows = record(measured, PLACE, INSTRUMENT, "local")
    flow = rows.flows[0]
    assert [flow[name] for name in ("latency_p50_ns", "pdv_p99_ns", "ipdv_p99_ns")] == [None] * 3
    assert [row["kind"] for row in rows.latency] == ["lateness", "gap"]
    assert (flow["lateness_p50_ns"], flow["since_departure_p50_ns"]) == (50, None)


def test_delay_at_which_the_source_was_as_late_as_frames_took_is_withheld() -> None:
    """Half of the frames left 2 µs late and took 4 µs; of the last hundredth lateness and way take 5 µs each."""
    measured = make_measured(make_cell(intended_mbps=8000 * 8 * 1524 / 1e6))
    times = measured.times[0]
    measured.times[0] = structs.replace(
        times,
        lateness=structs.replace(times.lateness, p50_ns=2000, p99_ns=5000, max_ns=6000, mean_ns=3999.0),
        since_departure=structs.replace(
            times.since_departure, p50_ns=4000, p99_ns=5000, max_ns=5000, mean_ns=4000.0
        ),
    )
    (flow,) = record(measured, PLACE, INSTRUMENT, "local").flows
    assert (flow["latency_p50_ns"], flow["latency_p99_ns"]) == (pytest.approx(4000, rel=0.01), None)
    assert (flow["latency_max_ns"], flow["pdv_p99_ns"]) == (None, None)
    assert flow["latency_mean_ns"] is not None
    assert (flow["lateness_p99_ns"], flow["since_departure_p99_ns"]) == (5000, 5000)


def test_a_broken_trial_is_still_a_row() -> None:
    measured = make_measured(make_cell())
    measured.failure = "source: its stream ended during source.run\nlast words"
    rows = record(measured, PLACE, INSTRUMENT, "local")
    assert rows.trial["verdict"] == "invalid"
    assert rows.flows == []
    assert headline(measured) == "source: its stream ended during source.run"


def test_the_headline_says_what_came_through() -> None:
    measured = make_measured(make_cell(), received_share=0.5)
    assert headline(measured) == "received 50.0 of 100.0 Mbit/s, lost 50.00%"


def test_delay_at_a_source_that_fell_behind_is_not_given() -> None:
    cell = make_cell(intended_mbps=100.0)
    for share, given in ((1.0, True), (0.99, False)):
        rate = share * fps(100.0, 1500)
        measured = make_measured(cell, offered_fps=rate)
        (flow,) = record(measured, PLACE, INSTRUMENT, "local").flows
        assert (flow["latency_p50_ns"] is not None) is given


def test_each_source_has_its_own_clock_and_window() -> None:
    """The second source's clock is an hour ahead, and its window a quarter shorter."""
    measured = make_measured(make_cell(streams=3), sources=2)
    hour_ns = 3600 * SECOND_NS
    end_ns = hour_ns + 3 * SECOND_NS // 4
    change_phase(measured, 1, start_ns=hour_ns, end_ns=end_ns, first_ns=hour_ns + 10)
    rows = record(
        measured, PLACE, Instrument(sink_costs={"sink": sink_cost(50.0), "sink1": sink_cost(100.0)}), "uut"
    )
    assert [flow["duration_s"] for flow in rows.flows] == [0.75] * 3
    assert rows.trial["start_spread_ms"] is None
    percent = {row["host"]: row["percent"] for row in rows.cpu if row["domain"] == "sink"}
    assert percent["sink"] == pytest.approx(percent["sink1"])
    assert {row["host"] for row in rows.cpu if row["domain"] == "source"} == {"source", "source1"}


def test_each_streams_hops_are_on_its_own_way() -> None:
    measured = make_measured(make_cell(streams=2), sources=2, received_share=0.5)
    measured.interfaces[1]["sink1/snk1"]["received"] -= 7
    lost = {(hop.stream, hop.name): hop.dropped for hop in hops(measured) if hop.dropped}
    assert lost[1, "sink"] == 7
    assert (0, "sink") not in lost


def test_what_a_hypervisor_gave_the_guests_is_the_hosts_and_not_stolen() -> None:
    """The CPU idled 60% and was stolen 25% beside what its kernel ran; 20% were a guest's."""
    measured = make_measured(make_cell())
    assert measured.cpu is not None
    after = measured.cpu[1]
    after["steal_s"], after["apart"] = {1: 0.25}, [{"account": Account(GUEST, "vcpu 0"), "ran_s": 0.2}]
    rows = record(measured, PLACE, INSTRUMENT, "uut")
    percent = {(row["domain"], row["component"]): row["percent"] for row in rows.cpu if row["host"] == "uut"}
    assert percent["host", "total"] == pytest.approx(15 + 20)
    assert percent["steal", "total"] == pytest.approx(5)
    assert percent["guest", "vcpu 0"] == pytest.approx(20)


class TestClocksOfTheirOwn:
    def test_the_bound_stands_beside_the_delay(self) -> None:
        measured = make_measured(make_cell())
        measured.clock_error_ns = {0: 700}
        rows = record(measured, PLACE, INSTRUMENT, "local")
        (flow,) = rows.flows
        assert flow["clock_error_ns"] == 700
        assert flow["latency_min_ns"] == 3000

    def test_variation_over_a_trial_has_the_clocks_drift_in_it(self) -> None:
        told = []
        for error_ns in (0, 700):
            measured = make_measured(make_cell(intended_mbps=8000 * 8 * 1524 / 1e6))
            measured.clock_error_ns = {0: error_ns}
            (flow,) = record(measured, PLACE, INSTRUMENT, "local").flows
            told.append(flow)
        assert [flow["pdv_p99_ns"] is None for flow in told] == [False, True]
        assert told[0]["ipdv_p99_ns"] == told[1]["ipdv_p99_ns"]

    def test_nothing_is_told_where_a_probe_came_before_it_left(self) -> None:
        measured = make_measured(make_cell())
        measured.clock_error_ns = {0: 700}
        change_received(measured, latency=structs.replace(measured.sink.stream(0).latency, min_ns=0))
        rows = record(measured, PLACE, INSTRUMENT, "local")
        (flow,) = rows.flows
        assert (flow["clock_error_ns"], flow["latency_p50_ns"]) == (700, None)
        assert {row["kind"] for row in rows.latency} == {"gap", "lateness"}
