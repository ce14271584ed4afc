"""What a source, a link or a unit under test does wrong on a real path is named in the trial's verdict."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.disturb import Act, bpf_program, hold_source, source_of, within
from validation.quota import quota
from vtax.cli import main
from vtax.machine.cpu_weight import find_cpu_controller
from vtax.results import Result
from vtax.testbed.addressing import StreamAddresses

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]


def measure(path: Path, out: Path, *keys: str) -> dict[str, Any]:
    """Run one cell on raw; returns its first trial."""
    cell = ["--platform", "raw", "--repetitions", "1", "--duration", "1"]
    main(["run", str(path), *cell, *(word for key in keys for word in ("--set", key)), "--out", str(out)])
    (trial,) = Result.open(out).query("SELECT * FROM trials WHERE trial_id = 1").to_pylist()
    return dict(trial)


def told(trial: dict[str, Any], pattern: str) -> list[float]:
    """The numbers in the one reason that a pattern finds."""
    found = [match for reason in trial["reasons"] if (match := re.search(pattern, reason))]
    assert len(found) == 1, trial["reasons"]
    return [float(number) for number in found[0].groups()]


@pytest.mark.measures
def test_late_departures(in_the_trial: Callable[[Act], None], scenario: Path, tmp_path: Path) -> None:
    """Few enough frames wait meanwhile for all to be sent at once: the source keeps its rate."""
    held_ms = 50
    in_the_trial(lambda run: hold_source(run, held_ms / 1000))
    trial = measure(scenario, tmp_path / "out", "intended_mbps=5", "workload.warmup_s=0")
    (late_ms,) = told(trial, r"^departures were late.*: 99th percentile ([0-9.]+) ms$")
    hundredth_ms = 10  # of one second: so much before the end of the hold a hundredth of all frames was due
    assert 0.9 * (held_ms - hundredth_ms) < late_ms < 4 * held_ms
    assert trial["verdict"] != "valid"


CLONES = """
static long (*const load)(void *, unsigned, void *, unsigned) = (void *)26;
static long (*const store)(void *, unsigned, const void *, unsigned, unsigned long) = (void *)9;
static long (*const clone)(void *, unsigned, unsigned long) = (void *)13;
"""
"""Helpers of linux/bpf.h: bpf_skb_load_bytes, bpf_skb_store_bytes, bpf_clone_redirect."""
INVENTS = """
unsigned char first, ahead = 1; /* byte of the sequence */
if (load(context, 52, &first, 1) || first) return 0;
store(context, 52, &ahead, 1, 0);
clone(context, ((unsigned *)context)[10], 0); /* ifindex */
store(context, 52, &first, 1, 0);
return 0;
"""
"""Every frame once more under a sequence that nobody sent: the same again would be a duplicate, which is a result."""


def test_more_frames_than_were_sent(
    before_its_frames: Callable[[Act], None], scenario: Path, tmp_path: Path
) -> None:
    program = bpf_program(tmp_path / "invent.o", "tc", INVENTS, CLONES)
    attach = f"tc filter add dev out0 egress bpf direct-action object-file {program} section tc"
    before_its_frames(lambda run: within(f"{run}-uut", f"tc qdisc add dev out0 clsact; {attach}"))
    trial = measure(scenario, tmp_path / "out", "intended_mbps=2")
    received, sent = told(trial, r"^more frames received than sent: (\d+) of (\d+)$")
    assert sent < received <= 2 * sent
    assert trial["verdict"] == "invalid"


def test_a_stream_that_goes_out_of_anothers_interface(
    before_its_frames: Callable[[Act], None], scenario: Path, tmp_path: Path
) -> None:
    sink = StreamAddresses(0)
    neighbour = f"ip neighbour add {sink.sink_ip} lladdr {sink.sink_mac} nud permanent dev out1"
    astray = f"{neighbour}; ip route add {sink.sink_ip}/32 dev out1"
    before_its_frames(lambda run: within(f"{run}-uut", astray))
    trial = measure(scenario, tmp_path / "out", "intended_mbps=2", "streams=2")
    (frames,) = told(trial, r"^frames of another stream: (\d+) on stream 1$")
    assert frames > 100
    assert trial["verdict"] == "invalid"


@pytest.mark.measures
def test_a_link_without_flow_control(
    in_the_trial: Callable[[Act], None], scenario: Path, tmp_path: Path
) -> None:
    """Without a queue that it could stop, a veth of any kernel drops what the far ring has no room for."""
    in_the_trial(lambda run: within(f"{run}-source", "tc qdisc replace dev src0 root noqueue"))
    trial = measure(scenario, tmp_path / "out", "intended_mbps=max", "link_mbps=unlimited")
    (dropped,) = told(trial, r"^no flow control on the source's links: (\d+) frames dropped at a full ring$")
    assert dropped > 10_000
    assert trial["verdict"] != "valid"


@pytest.fixture
def group() -> Iterator[Path]:
    """A cgroup whose processes have 5 ms of each 100 ms of a CPU; they go back to where they were."""
    if find_cpu_controller() is None:
        pytest.skip("cgroups cannot have quotas of CPU time here")
    with quota("test", 5_000, 100_000) as made:
        yield made


def test_a_source_that_runs_out_of_its_quota(
    group: Path, in_the_trial: Callable[[Act], None], scenario: Path, tmp_path: Path
) -> None:
    in_the_trial(lambda run: (group / "cgroup.procs").write_text(str(source_of(run))))
    trial = measure(scenario, tmp_path / "out", "intended_mbps=5")
    (percent,) = told(trial, rf"^threads held back by the CPU quota of cgroup /{group.name}: ([0-9.]+)%$")
    assert trial["verdict"] == "invalid"
    assert percent > 10
    assert trial["throttled_s"] > 0.1
