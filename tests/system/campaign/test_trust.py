"""What a number means: whose CPU the unit under test used, and what is in a delay and what is not."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from tests.helpers.disturb import Act, bpf_program, hold_source, within
from tests.helpers.quiet import BUSY
from vtax.agent_api import AgentApi, SinkOpenAnswer, SinkOpenParams
from vtax.agent_message import Pending
from vtax.cli import main
from vtax.machine.namespace import Namespace
from vtax.machine.offloads import set_offload
from vtax.results import Result
from vtax.statistics import decode
from vtax.testbed import dedicated
from vtax.testbed.end_acts import ShapeHost
from vtax.testbed.host import Host
from vtax.trial.frames.limits import BUSY_SHARE, WAITED_SHARE

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]


def measure(path: Path, out: Path, *options: str) -> dict[str, Any]:
    """Run one cell on raw; returns its first trial and flow."""
    cell = ["--platform", "raw", "--repetitions", "1", "--duration", "1", *options]
    main(["run", str(path), *cell, "--out", str(out)])
    rows = Result.open(out).query("SELECT * FROM trials JOIN flows USING (trial_id) WHERE trial_id = 1")
    (found,) = rows.to_pylist()
    return dict(found)


@pytest.mark.parametrize("context", ["own", "sender"])
def test_the_context_is_where_the_cpu_time_went(
    context: str, monkeypatch: pytest.MonkeyPatch, scenario: Path, tmp_path: Path
) -> None:
    if context == "sender":  # a veth left alone does the receiver's work within the sender's call
        monkeypatch.setattr(Host, "give_ingress_context", lambda *_: None)
    trial = measure(scenario, tmp_path / "out", "--set", "intended_mbps=20")
    assert trial["uut_context"] == context


@pytest.mark.measures
def test_a_floods_own_queue_is_in_no_delay(
    in_the_trial: Callable[[Act], None],
    monkeypatch: pytest.MonkeyPatch,
    scenario: Path,
    tmp_path: Path,
) -> None:
    """The source's end takes less than its link has: what it holds back fills a queue, which probes pass by."""
    link_mbps, queue_mbps = 10, 1
    queued_bytes = []

    def look(run: str) -> None:
        tc = ["nsenter", f"--net=/run/netns/{run}-source", "tc", "-s", "qdisc", "show", "dev", "src0"]
        told = subprocess.run(tc, check=True, capture_output=True, text=True).stdout
        (backlog,) = re.findall(r"backlog (\d+)(Kb|b)", told)[:1]
        queued_bytes.append(int(backlog[0]) * (1024 if backlog[1] == "Kb" else 1))

    monkeypatch.setattr(dedicated, "paced_by_source", lambda _: ShapeHost(queue_mbps, True, 1500, 2))
    in_the_trial(look)
    options = [f"link_mbps={link_mbps}", "intended_mbps=max", "frame_bytes=1500"]
    trial = measure(scenario, tmp_path / "out", *(word for key in options for word in ("--set", key)))
    queue_ns = queued_bytes[0] * 8000 / queue_mbps
    assert queue_ns > 20_000_000, "the flood filled its queue"
    assert trial["latency_p50_ns"] < queue_ns / 10


@pytest.mark.measures
def test_a_delay_counts_from_the_intended_send(
    in_the_trial: Callable[[Act], None], scenario: Path, tmp_path: Path
) -> None:
    stopped_s = 0.2
    in_the_trial(lambda run: hold_source(run, stopped_s))
    # Four seconds, so that the source catches up in a small part of them: vtax gives no delay where flow control holds
    # a source back for much of a trial.
    out = tmp_path / "out"
    trial = measure(scenario, out, "--set", "intended_mbps=20", "--duration", "4")
    (row,) = Result.open(out).query("SELECT histogram FROM latency WHERE kind = 'one-way'").to_pylist()
    longest_ns = decode(row["histogram"]).values.max()
    assert all(
        0.8e9 * stopped_s < time_ns < 2e9 * stopped_s for time_ns in (longest_ns, trial["lateness_max_ns"])
    )
    assert (trial["latency_max_ns"], trial["latency_p50_ns"] is None) == (None, False)


def test_frames_of_another_length_are_noticed(
    before_its_frames: Callable[[Act], None], scenario: Path, tmp_path: Path
) -> None:
    cut = "static int (*const bpf_skb_change_tail)(void *, unsigned int, unsigned long) = (void *)38;"
    program = bpf_program(tmp_path / "cut.o", "tc", "bpf_skb_change_tail(context, 180, 0); return 0;", cut)
    attach = (
        f"tc qdisc add dev out0 clsact; tc filter add dev out0 egress bpf direct-action object-file {program}"
    )
    before_its_frames(lambda run: within(f"{run}-uut", f"{attach} section tc"))
    trial = measure(scenario, tmp_path / "out", "--set", "intended_mbps=20", "--set", "frame_bytes=200")
    assert trial["verdict"] == "invalid"
    assert any(reason.startswith("frames of another length than was sent") for reason in trial["reasons"])


@pytest.mark.measures
def test_a_source_that_can_do_no_more_is_marked(
    in_the_trial: Callable[[Act], None], scenario: Path, tmp_path: Path
) -> None:
    drops_all = bpf_program(tmp_path / "drop.o", "tc", "return 2;")  # a UUT that holds nobody back
    attach = f"tc qdisc add dev in0 clsact; tc filter add dev in0 ingress bpf direct-action object-file {drops_all}"
    for attempt in range(3):  # others may take the source's CPU, or that of the UUT
        in_the_trial(lambda run: within(f"{run}-uut", f"{attach} section tc"))
        # Next to nothing of the trial is before the filter, where the UUT still holds the source back.
        keys = ["intended_mbps=1000", "workload.mechanism=raw", "workload.warmup_s=0"]
        options = (*(word for key in keys for word in ("--set", key)), "--duration", "4")
        trial = measure(scenario, tmp_path / f"out{attempt}", *options)
        if trial["verdict"] == "valid":
            break
    else:
        pytest.skip(f"{BUSY}: other processes took CPU time in every trial")
    assert trial["marks"] == ["generator-limited"]
    assert trial["waited_share"] < WAITED_SHARE
    assert trial["source_cpu_share"] >= BUSY_SHARE
    assert trial["ceiling_share"] == pytest.approx(trial["offered_fps"] / trial["ceiling_fps"])
    assert trial["loss_ratio"] > 0.5


@pytest.mark.measures
def test_a_uut_that_holds_its_source_back_is_marked(scenario: Path, tmp_path: Path) -> None:
    keys = ["intended_mbps=max", "frame_bytes=64", "link_mbps=unlimited", "flow_control=true"]
    options = [word for key in keys for word in ("--set", key)]
    trial = measure(scenario, tmp_path / "out", "--platform", "container", *options)
    assert trial["marks"] == ["backpressured"]
    assert trial["waited_share"] >= WAITED_SHARE
    assert trial["loss_ratio"] < 0.005


CHECKSUM = """
typedef unsigned int u32;
static long (*const load)(void *, u32, void *, u32) = (void *)26;
static long (*const store)(void *, u32, const void *, u32, unsigned long) = (void *)9;
static long (*const difference)(u32 *, u32, u32 *, u32, u32) = (void *)28;
"""
"""Helpers of linux/bpf.h: bpf_skb_load_bytes, bpf_skb_store_bytes, bpf_csum_diff."""
CHECKSUMS_UDP = """
u32 words[10] = {}; /* addresses, then UDP header and payload of a 64-byte frame, then the rest of the pseudo-header */
if (load(context, 26, words, 38)) return 0;
((unsigned char *)words)[39] = 17;
long sum = difference(0, 0, words, 40, 30 << 8);
sum = (sum & 0xffff) + ((unsigned)sum >> 16);
sum = (sum & 0xffff) + (sum >> 16);
unsigned short checksum = ~sum;
store(context, 40, &checksum, 2, 0);
return 0;
"""
"""Test frames have no UDP checksum, and the kernel merges none that have not."""


def test_frames_that_gro_merged_are_noticed(
    before_its_frames: Callable[[Act], None],
    scenario: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin = AgentApi.begin_sink_open

    def by_tc(self: AgentApi, params: SinkOpenParams) -> Pending[SinkOpenAnswer]:
        # A link that ends in XDP takes merged frames apart again.
        return begin(self, structs.replace(params, attach="tc"))

    monkeypatch.setattr(AgentApi, "begin_sink_open", by_tc)
    program = bpf_program(tmp_path / "checksum.o", "tc", CHECKSUMS_UDP, CHECKSUM)
    attach = (
        f"tc qdisc add dev src0 clsact; tc filter add dev src0 egress bpf direct-action object-file {program}"
    )

    def merge(run: str) -> None:
        set_offload(Namespace(f"{run}-uut"), "in0", "rx-udp-gro-forwarding", True)
        set_offload(Namespace(f"{run}-uut"), "out0", "tx-udp-segmentation", True)
        within(f"{run}-source", f"{attach} section tc")

    before_its_frames(merge)
    # Without flow control frames pass by tc, and those of raw have no checksum of their own.
    keys = ["intended_mbps=max", "workload.mechanism=raw", "link_mbps=unlimited", "flow_control=false"]
    trial = measure(scenario, tmp_path / "out", *(word for key in keys for word in ("--set", key)))
    assert trial["verdict"] == "invalid"
    assert any(reason.startswith("frames of another length than was sent") for reason in trial["reasons"])
