"""Each planted cause is named, the one that explains most first, and nothing is named that chance explains."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.results.builder import make
from tests.helpers.results.bulk import bulk_blocks
from tests.helpers.results.causes import BUSY_RAW, CALM_RAW, CAPPED, HOGGED, make_causes, repeated
from tests.helpers.results.forwarding import Made
from vtax.views import diagnosis_of
from vtax.views.diagnosis import Diagnosis, Finding
from vtax.views.diagnosis.candidate import CauseKind
from vtax.views.diagnosis.ranking import Cause


def only(diagnosis: Diagnosis) -> Finding:
    (finding,) = diagnosis.findings
    return finding


def named(causes: tuple[Cause, ...]) -> list[tuple[CauseKind, Any]]:
    return [(cause.kind, cause.hop or (cause.account and cause.account[2])) for cause in causes]


def test_a_hog_on_the_guests_cpu_is_named_before_what_it_shows_as(tmp_path: Path) -> None:
    finding = only(diagnosis_of(make_causes(tmp_path / "r", BUSY_RAW, HOGGED)))
    assert (finding.platform, finding.reference) == ("container", BUSY_RAW.cell)
    first = finding.causes[0]
    assert (first.kind, first.account) == (CauseKind.TAKEN, ("host", None, "foreign"))
    assert first.explains == pytest.approx(1.0, abs=0.03)
    assert first.more.value == pytest.approx(50.0)
    assert (CauseKind.HELD_BACK, None) in named(finding.shown)
    assert (CauseKind.WAITED, "ingress in0") in named(finding.shown)
    assert finding.unexplained < 0.03
    cause = "Main cause (80% or more of the loss): processes that are not vtax's used 50.0% of a CPU"
    assert cause in finding.text


def test_a_neighbour_is_named_by_its_number(tmp_path: Path) -> None:
    ledger = (("host", "ingress in0", 49.5), ("host", "softirq", 0.5), ("neighbour", "other", 50.0))
    idle = replace(BUSY_RAW, platform="container", further=(("neighbours", "idle"),))
    heavy = replace(HOGGED, ledger=ledger, further=(("neighbours", "heavy"),))
    finding = only(diagnosis_of(make_causes(tmp_path / "r", idle, heavy)))
    assert finding.reference == idle.cell
    assert finding.causes[0].account == ("neighbour", 0, "other")
    assert "less than with neighbours = idle" in finding.text
    assert "the neighbour's processes used 50.0% of a CPU" in finding.text


def test_a_capped_port_is_named_by_its_hop_and_no_cpu_is_blamed(tmp_path: Path) -> None:
    finding = only(diagnosis_of(make_causes(tmp_path / "r", CALM_RAW, CAPPED)))
    (cause,) = finding.causes
    assert (cause.kind, cause.hop, cause.reason) == (
        *(CauseKind.DROPPED, "UUT egress"),
        "queue full (dropped_queue of out0)",
    )
    assert cause.explains == pytest.approx(1.0, abs=0.02)
    assert cause.more.value == pytest.approx(60.0, rel=0.02)


def test_who_takes_only_what_is_left_over_is_not_blamed_for_a_capped_port(tmp_path: Path) -> None:
    """The CPU is full, but no thread of the unit under test waits for it."""
    beside = replace(
        CAPPED, host_percent=100.0, ledger=(("host", "ingress in0", 20.0), ("host", "foreign", 80.0))
    )
    finding = only(diagnosis_of(make_causes(tmp_path / "r", CALM_RAW, beside)))
    assert named(finding.causes) == [(CauseKind.DROPPED, "UUT egress")]
    assert all(cause.kind is not CauseKind.TAKEN for cause in finding.shown)


def test_less_of_a_flood_is_no_cause_where_it_is_still_more_than_the_reference_carried(
    tmp_path: Path,
) -> None:
    """A neighbour slows the generator too, whose frames a full tap queue drops either way."""
    waiting = ("tap queue", "no room (dropped_out of guestp0)")
    idle = Made(
        platform="uml",
        offered_mbps=150.0,
        received_mbps=45.0,
        host_percent=100.0,
        threads=(("guest", "kernel", 50.0, 49.0),),
        ledger=(("guest", "kernel", 50.0), ("host", "ingress in0", 50.0), ("idle", "idle", 100.0)),
        drops=((waiting[0], 105 / 150, waiting[1]),),
        intended_mbps=None,
        marks=("generator-limited",),
        further=(("neighbours", "idle"),),
    )
    light = replace(
        idle,
        offered_mbps=90.0,
        received_mbps=28.0,
        threads=(("guest", "kernel", 33.0, 66.0),),
        ledger=(
            *(("guest", "kernel", 33.0), ("host", "ingress in0", 34.0)),
            *(("neighbour", "userspace", 33.0), ("idle", "idle", 100.0)),
        ),
        drops=((waiting[0], 62 / 90, waiting[1]),),
        further=(("neighbours", "light"),),
    )
    finding = only(diagnosis_of(make_causes(tmp_path / "r", idle, light)))
    first = finding.causes[0]
    assert (first.kind, first.account) == (CauseKind.TAKEN, ("neighbour", 0, "userspace"))
    assert CauseKind.LIMITED not in {cause.kind for cause in (*finding.causes, *finding.shown)}
    (dropped,) = [cause for cause in finding.shown if cause.kind is CauseKind.DROPPED]
    assert dropped.more.value == pytest.approx(17.0, rel=0.1)


def test_a_queue_that_is_too_short_is_named_against_the_kernels_own(tmp_path: Path) -> None:
    words = "dropped by netem limit 4 delay 1ms (dropped_queue of the guest's eth1)"
    own = replace(CALM_RAW, platform="container", further=(("platform.egress_qdisc", "default"),))
    short = replace(
        own,
        received_mbps=70.0,
        drops=(("guest egress", 0.3, words),),
        further=(("platform.egress_qdisc", "netem limit 4 delay 1ms"),),
    )
    finding = only(diagnosis_of(make_causes(tmp_path / "r", own, short)))
    assert named(finding.causes) == [(CauseKind.DROPPED, "guest egress")]
    assert finding.causes[0].reason == words
    assert "guest egress dropped 30.0 Mbit/s (" in finding.text and words in finding.text


def test_a_slow_guest_is_named_with_its_own_cpu_time(tmp_path: Path) -> None:
    """A frame takes its virtual CPU four times as long; frames are dropped where they wait for it."""
    quick = Made(
        platform="qemu-virtio",
        emulated=True,
        host_percent=60.0,
        threads=(("guest", "vcpu 0", 50.0, 0.0), ("host", "ingress in0", 10.0, 0.0)),
        drops=(("link", 0.0, ""),),
    )
    slow = replace(
        quick,
        platform="qemu-e1000",
        received_mbps=50.0,
        host_percent=100.0,
        threads=(("guest", "vcpu 0", 95.0, 4.0), ("host", "ingress in0", 5.0, 0.0)),
        drops=(("tap queue", 0.5, "no room (dropped_out of guestp0)"),),
    )
    finding = only(diagnosis_of(make_causes(tmp_path / "r", quick, slow)))
    assert finding.emulated
    assert named(finding.causes)[0] == (CauseKind.SPENT, "vcpu 0")
    assert (CauseKind.DROPPED, "tap queue") in named(finding.shown)
    assert "the guest's vcpu 0 used" in finding.text


@pytest.mark.parametrize(("at_egress", "by_hog"), [(45.0, 20.0), (15.0, 50.0)])
def test_of_two_causes_the_one_that_explains_more_comes_first(
    at_egress: float, by_hog: float, tmp_path: Path
) -> None:
    """The hog's part never got in: the source was held back. What got in is dropped behind."""
    offered = 100.0 - by_hog
    work = 99.0 * offered / 100
    both = replace(
        HOGGED,
        offered_mbps=offered,
        received_mbps=offered - at_egress,
        threads=(("host", "ingress in0", work, 99.0 - work),),
        ledger=(("host", "ingress in0", work), ("host", "softirq", 1.0), ("host", "foreign", 99.0 - work)),
        drops=(("UUT egress", at_egress / offered, "queue full (dropped_queue of out0)"),),
    )
    finding = only(diagnosis_of(make_causes(tmp_path / "r", BUSY_RAW, both)))
    expected = [(at_egress, (CauseKind.DROPPED, "UUT egress")), (by_hog, (CauseKind.TAKEN, "foreign"))]
    assert named(finding.causes)[:2] == [cause for _, cause in sorted(expected, reverse=True)]
    parts = {cause.kind: cause.explains for cause in finding.causes}
    assert parts[CauseKind.DROPPED] == pytest.approx(at_egress / (at_egress + by_hog), abs=0.03)
    assert parts[CauseKind.TAKEN] == pytest.approx(by_hog / (at_egress + by_hog), abs=0.05)


def test_what_waited_for_a_cpu_is_late_by_that_and_who_had_it_is_named(tmp_path: Path) -> None:
    """Ten microseconds a frame, at 100 Mbit/s of 64 bytes."""
    frames = 100e6 / 8 / 88
    wait = 10_000 * frames / 1e7
    late = replace(
        CALM_RAW,
        platform="container",
        delay_ns=15_000.0,
        threads=(("host", "ingress in0", 20.0, wait),),
        ledger=(("host", "ingress in0", 20.0), ("host", "foreign", 8.0)),
    )
    finding = only(diagnosis_of(make_causes(tmp_path / "r", CALM_RAW, late)))
    assert [loss.quantity for loss in finding.losses] == ["latency_p50_ns"]
    assert named(finding.causes) == [(CauseKind.TAKEN, "foreign")]
    assert (CauseKind.WAITED, "ingress in0") in named(finding.shown)
    unsampled = [replace(each, ledger=()) for each in (CALM_RAW, late)]
    finding = only(diagnosis_of(make_causes(tmp_path / "u", *unsampled)))
    assert named(finding.causes) == [(CauseKind.WAITED, "ingress in0")]
    assert any("--set workload.cpu_samples_hz=499" in text for text in finding.missing)


def test_what_nothing_explains_is_unexplained(tmp_path: Path) -> None:
    late = replace(CALM_RAW, platform="container", delay_ns=50_000.0)
    finding = only(diagnosis_of(make_causes(tmp_path / "r", CALM_RAW, late)))
    assert finding.causes == () and finding.unexplained == 1.0
    assert finding.text.endswith("Unexplained: the recorded data show no cause of the added time.")


def test_a_part_that_is_left_over_is_said(tmp_path: Path) -> None:
    """Ten times the median delay, of which CPU time of its own is a third."""
    frames = 100e6 / 8 / 88
    late = replace(
        CALM_RAW,
        platform="container",
        delay_ns=50_000.0,
        ledger=(("host", "ingress in0", 20.0), ("host", "softirq", 15_000 * frames / 1e7)),
    )
    finding = only(diagnosis_of(make_causes(tmp_path / "r", CALM_RAW, late)))
    assert named(finding.causes) == [(CauseKind.SPENT, "softirq")]
    assert finding.unexplained == pytest.approx(2 / 3, abs=0.02)
    assert "Partial cause (20 to 50% of the added time): soft interrupts used" in finding.text
    assert "Unexplained: 50 to 80% of the added time." in finding.text


def test_of_streams_the_guests_own_cpu_time_is_named(tmp_path: Path) -> None:
    """A megabit takes a guest five times as long, and all of the CPU is used."""
    raw = bulk_blocks([[900.0], [905.0], [895.0], [902.0]], guest_percent=(20.0,), retransmissions=3)
    slow = [
        replace(trial, platform="container", goodput_mbps=(600.0,), guest_percent=(68.0,), host_percent=99.0)
        for trial in raw
    ]
    layout = {"name": "local", "cpus": {"agents": [0], "host": [1], "guests": [1]}}
    finding = only(diagnosis_of(make(tmp_path / "r", [*raw, *slow], testbed=layout)))
    assert finding.losses[0].quantity == "goodput_mbps"
    assert {cause.account for cause in finding.causes[:2]} == {("guest", 0, "vcpu 0"), ("guest", 0, "vhost")}
    assert "µs a megabit" in finding.text
    assert all(cause.kind is not CauseKind.RESENT for cause in (*finding.causes, *finding.shown))
    resent = [replace(trial, retransmissions=90 + trial.block, host_percent=50.0) for trial in slow]
    finding = only(diagnosis_of(make(tmp_path / "s", [*raw, *resent], testbed=layout)))
    assert finding.causes == () and named(finding.shown) == [(CauseKind.RESENT, None)]
    assert "segments" in finding.text and "Unexplained" in finding.text


def test_nothing_is_said_of_what_chance_explains(tmp_path: Path) -> None:
    noisy = [
        *repeated(CALM_RAW, (0.0, 0.05, -0.05, 0.02)),
        *repeated(replace(CAPPED, received_mbps=99.0, drops=()), (0.04, -0.05, 0.05, -0.02)),
    ]
    diagnosis = diagnosis_of(make(tmp_path / "r", noisy))
    assert diagnosis.findings == () and diagnosis.compared == 1
    assert diagnosis.counts == "No significant loss of throughput or time in 1 cell with a reference."


def test_who_gains_is_no_finding(tmp_path: Path) -> None:
    faster = replace(CALM_RAW, platform="container", received_mbps=120.0, delay_ns=1_000.0)
    assert diagnosis_of(make_causes(tmp_path / "r", CALM_RAW, faster)).findings == ()


def test_emulated_platforms_and_other_contexts_are_never_held_against_raw(tmp_path: Path) -> None:
    emulated = replace(CAPPED, platform="qemu-virtio", emulated=True)
    diagnosis = diagnosis_of(make_causes(tmp_path / "e", CALM_RAW, emulated))
    assert (diagnosis.compared, diagnosis.findings) == (0, ())
    elsewhere = replace(CAPPED, uut_context="sender")
    diagnosis = diagnosis_of(make_causes(tmp_path / "c", CALM_RAW, elsewhere))
    assert (diagnosis.compared, diagnosis.findings) == (0, ())


def test_raw_is_held_against_its_own_lowest_load(tmp_path: Path) -> None:
    flooded = replace(
        BUSY_RAW,
        received_mbps=400.0,
        offered_mbps=1000.0,
        drops=(("UUT ingress", 0.6, "ring full (dropped_out of src0)"),),
    )
    middle = replace(CALM_RAW, intended_mbps=200.0, received_mbps=200.0, offered_mbps=200.0)
    finding = only(diagnosis_of(make_causes(tmp_path / "r", CALM_RAW, middle, flooded)))
    assert (finding.cell, finding.reference) == (flooded.cell, CALM_RAW.cell)
    assert finding.losses[0].quantity == "delivered_ratio"
    assert named(finding.causes)[0] == (CauseKind.SPENT, "ingress in0")
    assert (CauseKind.DROPPED, "UUT ingress") in named(finding.shown)
    assert "less than at 100 Mbit/s" in finding.text


def neighbours(tmp_path: Path, *levels: str) -> dict[str, str]:
    """The level of the reference that each level of neighbours has."""
    cells = {level: replace(CAPPED, further=(("neighbours", level),)) for level in levels}
    better = {
        level: replace(cell, received_mbps=99.0 - 10 * number, drops=(("sink", 0.01 + number / 10, "x"),))
        for number, (level, cell) in enumerate(cells.items())
    }
    found = diagnosis_of(make_causes(tmp_path, *better.values())).findings
    return {finding.levels["neighbours"]: finding.reference.rpartition("=")[2] for finding in found}


def test_neighbours_are_held_against_idle_ones_and_these_against_none(tmp_path: Path) -> None:
    assert neighbours(tmp_path / "a", "none", "idle", "heavy") == {"idle": "none", "heavy": "idle"}
    assert neighbours(tmp_path / "b", "none", "heavy") == {"heavy": "none"}
    alone = replace(CALM_RAW, further=(("neighbour_guests", "0"),))
    beside = replace(CAPPED, platform="raw", further=(("neighbour_guests", "3"),))
    assert only(diagnosis_of(make_causes(tmp_path / "c", alone, beside))).reference == alone.cell


def test_what_cannot_be_compared_is_listed_with_its_reason(tmp_path: Path) -> None:
    hog = "CPU time taken from the UUT by other processes, most by yes (process 7): 48.0%"
    broken = replace(HOGGED, verdict="invalid", reasons=(hog,))
    diagnosis = diagnosis_of(make_causes(tmp_path / "r", BUSY_RAW, broken))
    ((cell, why),) = [(each.cell, each.why) for each in diagnosis.uncompared]
    assert cell == broken.cell
    assert why == f"no usable trial: {hog.partition(': ')[0]} (in 4 of 4)"
    once = make(tmp_path / "o", [CALM_RAW, CAPPED])
    ((cell, why),) = [(each.cell, each.why) for each in diagnosis_of(once).uncompared]
    assert cell == CAPPED.cell and why.startswith("1 of its repetitions can be compared")


def test_what_trials_say_of_themselves_is_said_along(tmp_path: Path) -> None:
    hog = "CPU time taken from the UUT by other processes, most by yes (process 7): 8.0%"
    suspect = replace(HOGGED, verdict="suspect", reasons=(hog,))
    finding = only(diagnosis_of(make_causes(tmp_path / "r", BUSY_RAW, suspect)))
    assert finding.remark == f"{hog.partition(': ')[0]} (in 4 of 4 trials)"


def test_loads_of_a_search_are_compared_with_none(tmp_path: Path) -> None:
    searched = make_causes(tmp_path / "r", CALM_RAW, CAPPED, scenario={"search": {"loss_ratio": 0.0}})
    diagnosis = diagnosis_of(searched)
    assert diagnosis.compared == 0
    assert {each.why for each in diagnosis.uncompared} == {"a search chose its loads by the trials before"}
