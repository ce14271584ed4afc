"""Loss that is provoked at one hop of a real way is charged to that hop, with the counter that saw it."""

import math
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.disturb import Act, bpf_program, within
from vtax.campaign import platform_set
from vtax.cli import main
from vtax.machine.ingress import thread_ingress
from vtax.machine.namespace import Namespace
from vtax.platforms import presets
from vtax.results import Result
from vtax.testbed.layout import cpu_layout
from vtax.workloads.forwarding.measure import path as campaign_path

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

SHARE = 0.99
"""Of the lost frames that must be charged to hops."""
DROPS_SOME = "return bpf_get_prandom_u32() % 10 ? 0 : 2;"
"""TC_ACT_OK nine times in ten, else TC_ACT_SHOT (linux/pkt_cls.h)."""
TENTH = 0.1
HELPER = "static unsigned int (*const bpf_get_prandom_u32)(void) = (void *)7;"


def measure(path: Path, out: Path, *options: str) -> tuple[list[dict[str, Any]], int]:
    """Run one cell without a warm-up; returns the first trial's hops and how many frames and probes its sink lacks."""
    cell = ["--repetitions", "1", "--set", "workload.warmup_s=0", "--duration", "1", *options]
    main(["run", str(path), *cell, "--out", str(out)])
    result = Result.open(out)
    hops = result.query("SELECT * FROM hops WHERE trial_id = 1").to_pylist()
    (flow,) = result.query("SELECT * FROM flows WHERE trial_id = 1").to_pylist()
    probes = flow["probes_sent"] - flow["latency_count"] if flow["intended_mbps"] is None else 0
    return hops, flow["frames_sent"] - flow["frames_received"] + probes


def assert_charged(
    hops: list[dict[str, Any]], lost: int, place: str, reason: str, planted: float | None = None
) -> None:
    """All the loss is accounted for, more of it at this place than at any other: a busy machine loses frames, too.

    Of the frames that came there a `planted` share is dropped, each by its own chance: 5 standard deviations at most.
    """
    assert lost > 100
    dropped = {hop["hop"]: hop["dropped"] for hop in hops}
    assert SHARE * lost <= sum(dropped.values()) <= lost / SHARE, dropped
    assert dropped[place] == max(dropped.values()), dropped
    (here,) = (hop for hop in hops if hop["hop"] == place)
    assert here["reason"] == reason
    if planted is not None:
        deviation = math.sqrt(here["received"] * planted * (1 - planted))
        assert abs(here["dropped"] - here["received"] * planted) <= 5 * deviation, here


def thinned(interface: str, direction: str) -> Callable[[str, Path], str]:
    """A command that has every tenth frame or so dropped at one side of an interface."""
    return lambda _run, program: (
        f"tc qdisc add dev {interface} clsact; "
        f"tc filter add dev {interface} {direction} bpf direct-action object-file {program} section tc"
    )


def narrowed(interface: str) -> Callable[[str, Path], str]:
    """A command that lets only 0.5 Mbit/s out of an interface, with a short queue."""
    return lambda _run, _program: (
        f"tc qdisc replace dev {interface} root tbf rate 500kbit burst 2kb limit 4kb"
    )


PROVOKED: dict[str, tuple[str, Callable[[str, Path], str], str, float | None]] = {
    "link": ("source", thinned("src0", "egress"), "TC_EGRESS (kfree_skb at src0)", TENTH),
    "bridge port in": ("uut", thinned("in0", "ingress"), "TC_INGRESS (kfree_skb at in0)", TENTH),
    "guest forwarding": (
        *("guest", thinned("eth0", "ingress")),
        *("TC_INGRESS (kfree_skb at the guest's eth0)", TENTH),
    ),
    "guest egress": ("guest", narrowed("eth1"), "queue full (dropped_queue of the guest's eth1)", None),
    "bridge port out": ("uut", thinned("guestp1", "ingress"), "TC_INGRESS (kfree_skb at guestp1)", TENTH),
    "UUT egress": ("uut", narrowed("out0"), "queue full (dropped_queue of out0)", None),
}
"""The host, the command that drops there, the counter that sees it, and the share that is dropped where it is known."""


@pytest.mark.parametrize("place", PROVOKED)
def test_a_container_and_its_bridges(
    place: str, before_its_frames: Callable[[Act], None], scenario: Path, tmp_path: Path
) -> None:
    host, command, reason, planted = PROVOKED[place]
    program = bpf_program(tmp_path / "drop.o", "tc", DROPS_SOME, HELPER)
    before_its_frames(lambda run: within(f"{run}-{host}", command(run, program)))
    hops, lost = measure(scenario, tmp_path / "out", "--platform", "container", "--set", "intended_mbps=2")
    assert_charged(hops, lost, place, reason, planted)


def test_a_discipline_that_a_preset_asks_for(
    monkeypatch: pytest.MonkeyPatch, scenario: Path, tmp_path: Path
) -> None:
    """What it does is the tax, all frames lost included: the path is ready without it, and no trial is blamed."""
    nothing = "tbf rate 8bit burst 1514b limit 1b"
    lossy = replace(presets()["container"], config={"runtime": "runc", "egress_qdisc": nothing})
    monkeypatch.setattr(platform_set, "presets", lambda: {"container": lossy})
    hops, lost = measure(scenario, tmp_path / "out", "--platform", "container", "--set", "intended_mbps=2")
    reason = f"dropped by {nothing} (dropped_queue of the guest's eth1)"
    assert_charged(hops, lost, "guest egress", reason, planted=1.0)
    (flow,) = Result.open(tmp_path / "out").query("SELECT * FROM flows WHERE trial_id = 1").to_pylist()
    assert flow["loss_ratio"] == 1


def test_a_kernel_that_gives_no_reasons(
    before_its_frames: Callable[[Act], None],
    scenario: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(campaign_path, "DROP_PLACES", 0)  # which the agent refuses
    program = bpf_program(tmp_path / "drop.o", "tc", DROPS_SOME, HELPER)
    # Not at out0: what a queue drops while it is replaced nobody tells apart from a full ring there.
    before_its_frames(lambda run: within(f"{run}-uut", thinned("in0", "ingress")(run, program)))
    hops, lost = measure(scenario, tmp_path / "out", "--platform", "raw", "--set", "intended_mbps=2")
    assert_charged(hops, lost, "UUT forwarding", "unknown: this kernel does not report it", TENTH)
    assert (
        "drop reasons are not available: sink: drops.open: places: Expected `int` >= 1"
        in capsys.readouterr().err
    )


def test_drop_events_that_are_lost_are_told(
    before_its_frames: Callable[[Act], None], scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign_path, "DROP_PLACES", 1)
    program = bpf_program(tmp_path / "drop.o", "tc", DROPS_SOME, HELPER)

    def drop_twice(run: str) -> None:
        for side in (thinned("in0", "ingress"), thinned("out0", "egress")):
            within(f"{run}-uut", side(run, program))

    before_its_frames(drop_twice)
    measure(scenario, tmp_path / "out", "--platform", "raw", "--set", "intended_mbps=20")
    (trial,) = Result.open(tmp_path / "out").query("SELECT * FROM trials WHERE trial_id = 1").to_pylist()
    assert trial["verdict"] != "valid"
    assert any(reason.startswith("drop events were lost: ") for reason in trial["reasons"])


def test_a_ring_that_overflows_without_flow_control(scenario: Path, tmp_path: Path) -> None:
    options = ["--platform", "raw", "--set", "intended_mbps=max", "--set", "flow_control=false"]
    hops, lost = measure(scenario, tmp_path / "out", *options, "--set", "link_mbps=unlimited")
    assert_charged(hops, lost, "UUT ingress", "ring full (dropped_out of src0)")


@pytest.mark.measures
def test_a_sink_that_gets_no_cpu(in_the_trial: Callable[[Act], None], scenario: Path, tmp_path: Path) -> None:
    (cpu, *_) = cpu_layout()["agents"]  # where the source never sleeps

    def starve(run: str) -> None:
        (thread,) = thread_ingress(Namespace(f"{run}-sink"), "snk0", [cpu])
        os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))

    in_the_trial(starve)
    hops, lost = measure(scenario, tmp_path / "out", "--platform", "container", "--set", "intended_mbps=20")
    assert_charged(hops, lost, "sink", "ring full (dropped_out of out0)")


@pytest.mark.parametrize("platform", ["uml", "qemu-virtio"])
def test_a_flooded_guest(platform: str, scenario: Path, tmp_path: Path) -> None:
    hops, lost = measure(scenario, tmp_path / "out", "--platform", platform, "--set", "intended_mbps=max")
    (ingress,) = (hop for hop in hops if hop["hop"] == "UUT ingress")
    if ingress["dropped"]:  # where the flood fills its link, some of its probes find no room there
        assert ingress["reason"] == "ring full (refused probes of src0)"
    behind = [hop for hop in hops if hop is not ingress]
    assert_charged(behind, lost - ingress["dropped"], "tap queue", "no room (dropped_out of guestp0)")


@pytest.mark.measures
def test_a_guest_whose_nic_has_too_short_a_ring(scenario: Path, tmp_path: Path) -> None:
    options = ["--platform", "qemu-rtl8139", "--set", "intended_mbps=60"]
    hops, lost = measure(scenario, tmp_path / "out", *options)
    assert_charged(hops, lost, "guest ring", "no room in the ring (dropped_in of the guest's eth0)")
