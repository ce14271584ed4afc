"""What a number means: whose CPU the unit under test used, and what is in a delay and what is not."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.disturb import Act, bpf_program, within
from vtax.cli import main
from vtax.machine.ownership import OwnershipRecord
from vtax.results import Result
from vtax.testbed.host import Host

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
        monkeypatch.setattr(Host, "give_ingress_context", lambda _self, _interface: None)
    trial = measure(scenario, tmp_path / "out", "--set", "intended_mbps=20")
    assert trial["uut_context"] == context


def test_a_floods_own_queue_is_in_no_delay(
    in_the_trial: Callable[[Act], None], scenario: Path, tmp_path: Path
) -> None:
    link_mbps = 10
    queued_bytes = []

    def look(run: str) -> None:
        tc = ["nsenter", f"--net=/run/netns/{run}-source", "tc", "-s", "qdisc", "show", "dev", "src0"]
        told = subprocess.run(tc, check=True, capture_output=True, text=True).stdout
        (backlog,) = re.findall(r"backlog (\d+)(Kb|b)", told)[:1]
        queued_bytes.append(int(backlog[0]) * (1024 if backlog[1] == "Kb" else 1))

    in_the_trial(look)
    options = [f"link_mbps={link_mbps}", "intended_mbps=max", "frame_bytes=1500"]
    trial = measure(scenario, tmp_path / "out", *(word for key in options for word in ("--set", key)))
    queue_ns = queued_bytes[0] * 8000 / link_mbps
    assert queue_ns > 20_000_000, "the flood filled its queue"
    assert trial["latency_p50_ns"] < queue_ns / 10


def test_a_delay_counts_from_the_intended_send(
    in_the_trial: Callable[[Act], None], scenario: Path, tmp_path: Path
) -> None:
    stopped_s = 0.2

    def stop(run: str) -> None:
        owned = [entry.detail for entry in OwnershipRecord(run).entries() if entry.kind == "process"]
        (source, *_) = [detail["pid"] for detail in reversed(owned) if detail["name"] == "source"]
        os.kill(source, signal.SIGSTOP)
        time.sleep(stopped_s)
        os.kill(source, signal.SIGCONT)

    in_the_trial(stop)
    trial = measure(scenario, tmp_path / "out", "--set", "intended_mbps=20")
    assert 0.8e9 * stopped_s < trial["latency_max_ns"] < 2e9 * stopped_s


def test_frames_of_another_length_are_noticed(
    in_the_trial: Callable[[Act], None], scenario: Path, tmp_path: Path
) -> None:
    cut = "static int (*const bpf_skb_change_tail)(void *, unsigned int, unsigned long) = (void *)38;"
    program = bpf_program(tmp_path / "cut.o", "tc", "bpf_skb_change_tail(context, 180, 0); return 0;", cut)
    attach = (
        f"tc qdisc add dev out0 clsact; tc filter add dev out0 egress bpf direct-action object-file {program}"
    )
    in_the_trial(lambda run: within(f"{run}-uut", f"{attach} section tc"))
    trial = measure(scenario, tmp_path / "out", "--set", "intended_mbps=20", "--set", "frame_bytes=200")
    assert trial["verdict"] == "invalid"
    assert any(reason.startswith("frames of another length than was sent") for reason in trial["reasons"])
