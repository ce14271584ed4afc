"""Each cause is named; what the unit under test does is never held against a trial."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from tests.helpers.paths import ROOT
from tests.helpers.trials import (
    SECOND_NS,
    change_guest,
    change_lateness,
    change_phase,
    change_received,
    change_sink,
    change_source,
    change_thread,
    change_times,
    judge,
    make_cell,
    make_measured,
    otherwise,
)
from vtax.agent_api import Pauses, ProcessTime, Quantiles, ThreadTime
from vtax.machine.cpu import TICK_S
from vtax.testbed.accounts import Account
from vtax.testbed.guest import GUEST
from vtax.trial import canary, interference
from vtax.trial.beside import Beside
from vtax.trial.cpu import crosscheck
from vtax.trial.endpoints import stream_findings
from vtax.trial.frames import limits
from vtax.trial.frames.measured import Measured
from vtax.trial.guest import is_broken
from vtax.trial.neighbours import findings as neighbours
from vtax.trial.verdict import Verdict
from vtax.units import fps
from vtax.workloads.bulk.measure import far_end
from vtax.workloads.forwarding.measure import context, foreign, instrument, uplink


def test_an_undisturbed_trial_is_valid_without_marks() -> None:
    judgement = judge(make_measured(make_cell()))
    assert (judgement.verdict, judgement.reasons, judgement.marks) == (Verdict.VALID, (), ())
    assert judgement.uut_context == "own"


def test_loss_duplicates_and_reordering_are_results() -> None:
    measured = make_measured(make_cell(), received_share=0.4)
    change_received(measured, duplicated=500, reordered=700)
    assert judge(measured).verdict is Verdict.VALID


def _guest(**changes: Any) -> Callable[[Measured], None]:
    return lambda measured: change_guest(measured, **changes)


PANIC = "[    9.1] sysrq: Trigger a crash\n[    9.2] Kernel panic - not syncing: sysrq triggered crash\n"
BEFALLEN: dict[str, tuple[Callable[[Measured], object], str, bool]] = {
    "died": (
        _guest(condition="ended", last_words=PANIC),
        "the guest died (Kernel panic - not syncing: sysrq triggered crash): its losses are a result",
        True,
    ),
    "died silently": (_guest(condition="ended"), "the guest died: its losses are a result", True),
    "hung": (_guest(condition="silent"), "the guest hung: its losses are a result", True),
    "lost a NIC": (_guest(interfaces=[]), "the guest lost its NIC 02:00:00:00:00:00", True),
    "killed": (_guest(oom_kills=2), "the guest ran out of memory and killed 2 of its processes", False),
    "clock": (
        _guest(clock_offset_ns=10**18 + 5 * SECOND_NS),
        "the guest's clock was stepped by +5.000 s",
        False,
    ),
}


@pytest.mark.parametrize("fate", BEFALLEN)
def test_what_befalls_the_guest_is_named_and_a_result(fate: str) -> None:
    happen, words, broken = BEFALLEN[fate]
    measured = make_measured(make_cell())
    assert not is_broken(measured)
    happen(measured)
    judgement = judge(measured)
    assert judgement.verdict is Verdict.VALID
    assert judgement.reasons[0].startswith(words)
    assert is_broken(measured) is broken


def test_a_step_of_the_hosts_clock_is_not_said_of_a_guest_that_shares_it() -> None:
    measured = make_measured(make_cell())
    measured.interference[1]["clock_offset_ns"] += SECOND_NS  # type: ignore[index]
    change_guest(measured, clock_offset_ns=10**18 + SECOND_NS)
    (reason,) = judge(measured).reasons
    assert reason.startswith("the host's clock was stepped by +1.000 s")


def _others(cpu_s: float, cpu: int = 1) -> Callable[[Measured], None]:
    def take(measured: Measured) -> None:
        for sample, used_s in zip(measured.interference or (), (2.0, 2.0 + cpu_s), strict=True):
            sample["others"]["7.99"] = {"name": "stress", "pid": 7, "cpu": cpu, "cpu_s": used_s}

    return take


def test_others_on_the_sources_cpu_take_nothing_from_the_uut() -> None:
    measured = make_measured(make_cell())
    _others(1.0, cpu=0)(measured)
    assert judge(measured).reasons == ()


def test_what_a_hypervisor_took_for_the_guests_is_not_stolen() -> None:
    measured = make_measured(make_cell())
    _steal(measured, 0.5)
    assert judge(measured).verdict is Verdict.INVALID
    assert measured.cpu is not None
    for sample, ran_s in zip(measured.cpu, (3.0, 3.5), strict=True):
        sample["apart"] = [{"account": Account(GUEST, "vcpu 0"), "ran_s": ran_s}]
    assert judge(measured).reasons == ()


def _wait(measured: Measured, share: float) -> None:
    change_times(measured, run_delay_ns=round(share * SECOND_NS))


def _switched(measured: Measured, run_ns: int) -> None:
    """Another process has the source's CPU for so long, and the kernel has it for less."""
    kernel = ProcessTime(comm="kworker/0:1", kernel=True, pid=20, run_ns=run_ns // 2)
    change_thread(measured, others=[ProcessTime(comm="stress", kernel=False, pid=7, run_ns=run_ns), kernel])


def _pauses(share: float) -> Pauses:
    """Half of the window was watched."""
    watched_ns = SECOND_NS // 2
    return Pauses(count=3, longest_ns=25_800_000, paused_ns=round(share * watched_ns), watched_ns=watched_ns)


def test_pauses_in_which_the_kernel_had_another_run_are_no_absence_of_the_cpu() -> None:
    measured = make_measured(make_cell())
    change_thread(measured, pauses=_pauses(0.08))
    _wait(measured, 0.04)
    assert judge(measured).reasons == ()


def test_a_source_that_the_kernel_kept_off_all_the_time_that_it_paused_was_not_away() -> None:
    """It watched for half of the window: 40% of the window are 80% of what it watched."""
    measured = make_measured(make_cell())
    change_thread(measured, pauses=_pauses(0.8))
    _wait(measured, 0.4)
    assert [instrument.AWAY in reason for reason in judge(measured).reasons] == [False]


def _steal(measured: Measured, share: float) -> None:
    measured.cpu[1]["steal_s"] = {1: share}  # type: ignore[index]


def _refuse(kind: str, count: int) -> Callable[[Measured], None]:
    def refuse(measured: Measured) -> None:
        refused = measured.sink.stream(0).refused
        change_received(measured, refused=structs.replace(refused, **{kind: count}))

    return refuse


def test_one_tick_of_the_steal_counter_is_no_theft_of_a_short_trial() -> None:
    """The tick may have begun long before the trial: 10 ms of a window of 0.4 s would be 2.5%."""
    measured = make_measured(make_cell())
    before, after = measured.cpu  # type: ignore[misc]
    after["at_s"] = before["at_s"] + 0.4
    after["steal_s"] = {cpu: stolen_s + TICK_S for cpu, stolen_s in before["steal_s"].items()}
    assert judge(measured).verdict is Verdict.VALID
    after["steal_s"] = {cpu: stolen_s + 2 * TICK_S for cpu, stolen_s in before["steal_s"].items()}
    assert judge(measured).verdict is Verdict.SUSPECT


CAUSES: dict[str, tuple[Callable[[Measured], object], Verdict, str]] = {
    "source preempted": (lambda m: _wait(m, 0.07), Verdict.SUSPECT, "source kept waiting"),
    "source starved": (lambda m: _wait(m, 0.2), Verdict.INVALID, "source kept waiting"),
    "steal": (lambda m: _steal(m, 0.05), Verdict.SUSPECT, "stolen"),
    "much steal": (lambda m: _steal(m, 0.3), Verdict.INVALID, "stolen"),
    "late": (
        lambda m: change_lateness(m, 2_000_000),
        Verdict.SUSPECT,
        "departures were late: 99th percentile 2.0 ms",
    ),
    "preempted by a process that is known": (
        lambda m: (_wait(m, 0.07), _switched(m, 60_000_000)),
        Verdict.SUSPECT,
        "source kept waiting for its CPU while stress (process 7) ran on the source's CPU for 60.0 ms: 7.0%",
    ),
    "late by a process that is known": (
        lambda m: (change_lateness(m, 2_000_000), _switched(m, 12_300_000)),
        Verdict.SUSPECT,
        "departures were late while stress (process 7) ran on the source's CPU for 12.3 ms: 99th percentile 2.0 ms",
    ),
    "late, and the machine below had it longer than any process": (
        lambda m: (
            change_lateness(m, 2_000_000),
            change_times(m, run_ns=9 * SECOND_NS // 10),
            _switched(m, 12_300_000),
        ),
        Verdict.SUSPECT,
        "departures were late: 99th percentile 2.0 ms",
    ),
    "late, and others had no more than a moment": (
        lambda m: (change_lateness(m, 2_000_000), _switched(m, 900_000)),
        Verdict.SUSPECT,
        "departures were late: 99th percentile 2.0 ms",
    ),
    "away": (
        lambda m: change_thread(m, pauses=_pauses(0.07)),
        Verdict.SUSPECT,
        "the source's CPU was away: for up to 25.8 ms at a time; of the time that it watched: 6.8%",
    ),
    "long away": (lambda m: change_thread(m, pauses=_pauses(0.3)), Verdict.INVALID, "CPU was away"),
    "aborted": (lambda m: change_source(m, aborted=True), Verdict.INVALID, "aborted"),
    "detached": (lambda m: change_received(m, attached=False), Verdict.INVALID, "detached"),
    "more than sent": (
        lambda m: change_received(m, received=10**9),
        Verdict.INVALID,
        "more frames received than sent",
    ),
    "wrong length": (_refuse("length", 1), Verdict.INVALID, "another length"),
    "wrong stream": (_refuse("stream", 1), Verdict.INVALID, "another stream"),
    "stale": (_refuse("trial", 1), Verdict.SUSPECT, "another trial"),
    "few foreign": (_refuse("foreign", 50), Verdict.SUSPECT, "foreign traffic: 50 frames"),
    "foreign": (_refuse("foreign", 1000), Verdict.INVALID, "foreign traffic: 1000 frames"),
    "foreign at the UUT": (
        lambda m: m.interfaces[1]["uut/in0"].update(received=12_000),
        Verdict.INVALID,
        "frames that the source did not send entered on stream 0",
    ),
    "taken": (
        _others(0.1),
        Verdict.SUSPECT,
        "CPU time taken from the UUT by other processes, most by stress (process 7)",
    ),
    "much taken": (_others(0.3), Verdict.INVALID, "taken from the UUT"),
    "throttled": (
        lambda m: m.interference[1].update(throttled_s={"/": 0.01, "/jobs/one": 0.075}),
        Verdict.SUSPECT,
        "threads held back by the CPU quota of cgroup /jobs/one: 5.0%",
    ),
    "much throttled": (
        lambda m: m.interference[1].update(throttled_s={"/jobs/one": 3.0}),
        Verdict.INVALID,
        "cgroup /jobs/one: 200.0%",
    ),
    "clock": (
        lambda m: m.interference[1].update(clock_offset_ns=10**18 - 5 * SECOND_NS),
        Verdict.SUSPECT,
        "the host's clock was stepped by -5.000 s",
    ),
    "lost events": (
        lambda m: setattr(m, "drops", (m.drops[0], structs.replace(m.drops[1], lost_events=7))),
        Verdict.SUSPECT,
        "drop events were lost: 7 dropped frames have no reason",
    ),
    "drain": (lambda m: change_sink(m, ended="limit"), Verdict.SUSPECT, "drain"),
    "broken": (
        lambda m: setattr(m, "failure", "source: gone"),
        Verdict.INVALID,
        "instrument failed: source: gone",
    ),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_each_cause_is_named(cause: str) -> None:
    spoil, expected, words = CAUSES[cause]
    measured = make_measured(make_cell())
    spoil(measured)
    judgement = judge(measured)
    assert judgement.verdict is expected
    assert any(words in reason for reason in judgement.reasons)


def test_a_source_that_waits_for_room_is_not_blamed_for_being_late() -> None:
    measured = make_measured(make_cell(intended_mbps=1000.0))
    change_lateness(measured, 5_000_000)
    change_phase(measured, blocked=10)
    assert judge(measured).verdict is Verdict.VALID


def test_the_worst_cause_decides() -> None:
    measured = make_measured(make_cell())
    _wait(measured, 0.07)
    change_received(measured, attached=False)
    judgement = judge(measured)
    assert judgement.verdict is Verdict.INVALID
    assert len(judgement.reasons) == 2


def _with_two_threads(measured: Measured) -> None:
    """Have its only stream sent by a second thread as well, which does what the first one does."""
    (thread,) = measured.source.hosts["source"].threads
    (stream,) = measured.source.hosts["source"].streams
    change_source(
        measured,
        threads=[thread, structs.replace(thread, cpu=3)],
        streams=[structs.replace(stream, cpus=[thread.cpu, 3])],
    )


def test_each_thread_of_a_source_has_to_be_on_its_cpu() -> None:
    measured = make_measured(make_cell(source_threads=2, flows=2))
    _with_two_threads(measured)
    assert judge(measured).reasons == ()
    first, second = measured.source.hosts["source"].threads
    lag = Quantiles(p50=50, p99=5_000_000, max=9_000_000)
    late = structs.replace(second, pauses=_pauses(0.3), lag_ns=lag)
    change_source(measured, threads=[first, late])
    judgement = judge(measured)
    assert judgement.verdict is Verdict.INVALID
    away, departures = judgement.reasons
    assert away.startswith("the source's CPU 3 was away: for up to 25.8 ms")
    assert departures == "departures were late on CPU 3: 99th percentile 5.0 ms"


def test_neighbours_take_of_the_first_thread_s_cpu_alone() -> None:
    """A tenth of two CPUs is left over, where the other one had as much to itself."""
    measured = make_measured(
        make_cell(frame_bytes=64, intended_mbps=None, source_threads=2, flows=2), offered_fps=700_000
    )
    change_times(measured, run_ns=round(0.8 * SECOND_NS), run_delay_ns=0)
    _with_two_threads(measured)
    for share, mark in ((0.0, "limit-unknown"), (0.1, "limit-unknown"), (0.2, "generator-limited")):
        measured.beside = Beside(source_share=share)
        assert judge(measured).marks == (mark,), share


def _spend(
    measured: Measured, *, waited: float | None = 0.0, ran: float | None = 1.0, kept_off: float = 0.0
) -> None:
    """Have the first source do so with shares of the window, and its first stream wait for room."""
    change_phase(measured, waited_ns=None if waited is None else round(waited * SECOND_NS))
    thread = None
    if ran is not None:
        thread = ThreadTime(run_ns=round(ran * SECOND_NS), run_delay_ns=round(kept_off * SECOND_NS))
    change_thread(measured, time=thread)


@pytest.mark.parametrize(
    ("spent", "mark"),
    [
        ({"waited": 0.0, "ran": 1.0}, "generator-limited"),
        ({"waited": 0.08, "ran": 0.92}, "generator-limited"),
        ({"waited": 0.29, "ran": 0.71}, "backpressured"),
        ({"waited": 1.0, "ran": 0.0}, "backpressured"),
        ({"waited": 0.8, "ran": 1.0}, "backpressured"),  # it waits busily
        ({"waited": 0.0, "ran": 0.85, "kept_off": 0.09}, "limit-unknown"),
        ({"waited": 0.0, "ran": 0.5}, "limit-unknown"),
        # Of its waiting, so much may have been for its CPU.
        ({"waited": 0.15, "ran": 0.78, "kept_off": 0.07}, "limit-unknown"),
        ({"waited": 0.2, "ran": 0.74, "kept_off": 0.07}, "backpressured"),
        # What pktgen reports, and what a kernel does that accounts for no thread.
        ({"waited": None, "ran": None}, "limit-unknown"),
        ({"waited": 0.0, "ran": None}, "limit-unknown"),
    ],
)
@pytest.mark.parametrize("intended_mbps", [1000.0, None])
def test_what_kept_the_load_down_is_marked(
    spent: dict[str, Any], mark: str, intended_mbps: float | None
) -> None:
    measured = make_measured(make_cell(frame_bytes=64, intended_mbps=intended_mbps), offered_fps=700_000)
    _spend(measured, **spent)
    judgement = judge(measured)
    assert judgement.marks == (mark,)
    assert judgement.verdict is not Verdict.INVALID


@pytest.mark.parametrize("waited", [0.0, 0.9])
def test_a_flood_at_the_links_rate_is_the_links_limit(waited: float) -> None:
    rate = fps(1000, 1500)
    measured = make_measured(make_cell(intended_mbps=None), offered_fps=rate)
    _spend(measured, waited=waited, ran=1 - waited)
    assert judge(measured).marks == ("link-limited",)


@pytest.mark.parametrize("waited", [0.0, 0.9])
def test_a_load_that_was_offered_as_intended_has_no_mark(waited: float) -> None:
    measured = make_measured(make_cell(intended_mbps=100.0))
    _spend(measured, waited=waited)
    assert judge(measured).marks == ()


@pytest.mark.parametrize(
    ("kept_off", "mark"), [(0.0, "generator-limited"), (0.02, "generator-limited"), (0.04, "limit-unknown")]
)
def test_cpu_time_that_others_took_is_no_limit_of_a_paced_source(kept_off: float, mark: str) -> None:
    """It is 4% short, and waits busily for the time of each frame, so that its CPU is always in use."""
    measured = make_measured(make_cell(intended_mbps=100.0), offered_fps=0.96 * fps(100, 1500))
    _spend(measured, ran=1 - kept_off, kept_off=kept_off)
    assert judge(measured).marks == (mark,)


def test_stops_of_a_queue_that_never_made_the_source_wait_are_no_back_pressure() -> None:
    measured = make_measured(make_cell(frame_bytes=64, intended_mbps=None), offered_fps=700_000)
    measured.interfaces[1]["source/src0"]["held_back"] = 700_000 // 64  # type: ignore[index]
    assert judge(measured).marks == ("generator-limited",)


def test_each_stream_is_judged_by_its_own_source() -> None:
    """Two sources of a stream each: the first is held back, the second is busy."""
    measured = make_measured(make_cell(streams=2, intended_mbps=None), offered_fps=10_000, sources=2)
    _spend(measured, waited=0.6, ran=0.4)
    assert judge(measured).marks == ("backpressured", "generator-limited")


def test_context_is_told_by_where_cpu_time_went() -> None:
    measured = make_measured(make_cell())
    measured.cpu[1]["threads"][0]["run_ns"] = 1000  # type: ignore[index]
    assert judge(measured).uut_context == "sender"


def test_the_document_states_the_thresholds() -> None:
    text = (ROOT / "docs/verdicts.md").read_text()
    documented = dict(re.findall(r"^\| `([A-Z0-9_]+)` \| ([0-9.]+) \|", text, re.MULTILINE))
    modules = (
        *(limits, uplink, instrument, foreign, context),
        *(interference, canary, crosscheck, stream_findings, far_end, neighbours),
    )
    found = {name: value for module in modules for name, value in vars(module).items()}
    constants = {
        name: value for name, value in found.items() if name.isupper() and isinstance(value, int | float)
    }
    assert {name: float(value) for name, value in documented.items()} == constants


def test_a_starved_stream_is_not_hidden_by_its_siblings() -> None:
    """Three streams of large frames, one of which the UUT does not take: its ring never fills, its socket does."""
    measured = make_measured(make_cell(streams=3, intended_mbps=400.0))
    change_phase(measured, 1, frames_sent=64, blocked=1_000_000, waited_ns=SECOND_NS * 99 // 100)
    judgement = judge(measured)
    assert judgement.marks == ("backpressured",)


def test_drops_at_a_full_ring_tell_that_flow_control_is_missing() -> None:
    measured = make_measured(make_cell())
    measured.interfaces[1]["source/src0"]["dropped_out"] = 5  # type: ignore[index]
    judgement = judge(measured)
    assert judgement.verdict is Verdict.SUSPECT
    assert "no flow control" in judgement.reasons[0]


def test_a_kernel_without_schedstat_is_judged_by_the_rest() -> None:
    measured = make_measured(make_cell())
    change_thread(measured, time=None)
    assert judge(measured).verdict is Verdict.VALID


def test_the_worst_cause_comes_first() -> None:
    measured = make_measured(make_cell())
    change_lateness(measured, 2_000_000)
    _others(0.5)(measured)
    first, second = judge(measured).reasons
    assert first.startswith("CPU time taken")
    assert second.startswith("departures were late")


def test_an_old_line_of_the_console_is_no_reason() -> None:
    measured = make_measured(make_cell())
    before, after = measured.guests[GUEST]
    old: dict[str, Any] = {"last_words": "Out of memory: Killed process 70 (hog)"}
    measured.guests[GUEST] = (otherwise(before, **old), otherwise(after, **old))
    _guest(condition="ended")(measured)
    assert judge(measured).reasons == ("the guest died: its losses are a result",)
