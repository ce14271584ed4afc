"""What the tests of several platform kinds do with their guests."""

import json
import os
import select
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

from tests.helpers.campaigns import assert_measured, vtax
from vtax.platforms import GuestPlan
from vtax.results import Result

CONTROLLER = """
import json, os, sys
from pathlib import Path
from vtax.machine.namespace import Namespace
from vtax.machine.ownership import OwnershipRecord
from vtax.machine.processes import descendants
from vtax.platforms import GuestPlan, load_kind
kind, run, directory, host = sys.argv[1:]
module = load_kind(kind)
plan = GuestPlan("guest", module.Config(), [], Namespace(host), [0], OwnershipRecord(run, Path(directory)))
guest = module.Kind().start(plan)
print(json.dumps(descendants(os.getpid())), flush=True)
sys.stdin.read()
"""


def orphans(kind: str, plan: GuestPlan) -> list[int]:
    """Handles on the processes of a guest without NICs, whose controller has been killed."""
    arguments = [kind, plan.record.run, str(plan.record.path.parent), plan.host.name]
    process = subprocess.Popen(
        [sys.executable, "-c", CONTROLLER, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    handles = [os.pidfd_open(pid) for pid in json.loads(process.stdout.readline())]
    assert handles
    process.kill()
    process.communicate()
    return handles


def have_ended(handles: Iterable[int], patience_ms: int = 20_000) -> bool:
    """Whether each of these processes ends within some time; closes the handles."""
    ended = []
    for handle in handles:
        poller = select.poll()
        poller.register(handle, select.POLLIN)
        ended.append(bool(poller.poll(patience_ms)))
        os.close(handle)
    return all(ended)


SCENARIO = """
name: test/streams
title: A test
question: Do frames of every stream come through?
workload: {{kind: forwarding, warmup_s: 0.1, duration_s: 0.3, streams: 1, frame_bytes: 64}}
testbed: {{link_mbps: 1000, flow_control: true}}
factors:
  platform: [{platform}]
  streams: [1, {streams}]
  frame_bytes: [64, 1514]
  intended_mbps: [0.2]
repetitions: 1
figures: [throughput-by-load]
"""


def forward_streams(platform: str, streams: int, directory: Path) -> Result:
    """The result of one stream and of several, each of which has come through without loss.

    So few frames are sent that each queue holds all: guests may get no CPU for a while on a busy machine.
    """
    scenario, out = directory / "scenario.yaml", directory / "out"
    scenario.write_text(textwrap.dedent(SCENARIO.format(platform=platform, streams=streams)))
    assert_measured(vtax("run", scenario, "--out", out))
    result = Result.open(out)
    flows = result.query(
        "SELECT streams, stream, max(loss_ratio) AS loss, bool_or(emulated) AS emulated "
        "FROM trials JOIN flows USING (trial_id) GROUP BY ALL ORDER BY ALL"
    ).to_pylist()
    expected = [(1, 0), *((streams, stream) for stream in range(streams))]
    assert [(flow["streams"], flow["stream"]) for flow in flows] == expected
    assert {(flow["loss"], flow["emulated"]) for flow in flows} == {(0, False)}
    return result
