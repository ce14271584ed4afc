"""A campaign on the machines of a rack, and what must hold of it."""

import re
import subprocess
from pathlib import Path

from tests.helpers.campaigns import DISTURBED
from vtax.machine.processes import children

WAITED = (*DISTURBED, "kept waiting", "departures were late")
"""Three machines on two CPUs disturb each other, and the numbers here are nobody's."""
SCENARIO = """
name: test/rack
title: A test
question: Do frames cross three machines?
workload: {kind: forwarding, warmup_s: 0.1, duration_s: 0.3, streams: 1, frame_bytes: 64}
testbed: {link_mbps: 1000, flow_control: true}
factors:
  platform: [raw, container]
  intended_mbps: [1, 5]
repetitions: 3
figures: [throughput-by-load]
"""


def assert_gone_on(done: "subprocess.CompletedProcess[str]") -> None:
    """Every place was measured, as far as the machine below had the time."""
    reasons = re.findall(r"^no usable trial: (.*)$", done.stderr, re.MULTILINE)
    assert done.returncode == (3 if reasons else 0), done.stderr
    assert all(any(words in reason for words in WAITED) for reason in reasons), done.stderr


def ssh_of(machine: str, controller: int) -> int:
    """The ssh that a controller reaches a machine by."""
    commands = {
        child: Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0") for child in children(controller)
    }
    (pid,) = (pid for pid, words in commands.items() if machine.encode() in words)
    return pid


def ended(process: "subprocess.Popen[str]") -> "subprocess.CompletedProcess[str]":
    out, error = process.communicate(timeout=240)
    return subprocess.CompletedProcess(process.args, process.returncode, out, error)
