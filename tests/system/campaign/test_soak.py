"""Long campaigns: nothing grows with the number of trials, and the last takes as long as the first."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import monotonic

import pytest

from tests.helpers.campaigns import start
from vtax.results import Result

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

SCENARIO = """
name: test/soak
title: A test
question: Does anything grow?
workload: {{kind: forwarding, warmup_s: 0, duration_s: 0.1, streams: 1, frame_bytes: 64}}
testbed: {{link_mbps: 1000, flow_control: true}}
factors: {{platform: [raw, container], intended_mbps: {loads}}}
repetitions: {blocks}
figures: [throughput-by-load]
"""


@dataclass(frozen=True)
class Sample:
    """What the campaign's processes hold, at the end of a trial."""

    at_s: float
    controller_cpu_s: float
    controller_kib: int
    controller_handles: int
    threads: int
    zombies: int
    agents: int
    agents_kib: int
    agents_handles: int
    bpf_objects: int
    namespaces: int
    links: int


BOUNDS: dict[str, Callable[[float], float]] = {
    "controller_kib": lambda first: first + 24_000,
    "controller_handles": lambda first: first + 2,
    "threads": lambda first: first + 2,
    "zombies": lambda first: first,
    "agents": lambda first: first,
    "agents_kib": lambda first: first * 1.1 + 500,
    "agents_handles": lambda first: first,
    "bpf_objects": lambda first: first,
    "namespaces": lambda first: first,
    "links": lambda first: first,
}
"""What the last quarter of a campaign may hold, in the median, given the most that the first one did."""


def sample(controller: int) -> Sample:
    """Look at a campaign's controller and at the processes below it."""
    family = descendants(controller)
    agents = [process for process in family if b"vtax-agent" in read(process / "cmdline")]
    me = Path(f"/proc/{controller}")
    return Sample(
        at_s=monotonic(),
        controller_cpu_s=cpu_s(me),
        controller_kib=resident_kib(me),
        controller_handles=len(handles(me)),
        threads=len(list((me / "task").iterdir())),
        zombies=sum(b"\nState:\tZ" in read(process / "status") for process in family),
        agents=len(agents),
        agents_kib=sum(map(resident_kib, agents)),
        agents_handles=sum(len(handles(agent)) for agent in agents),
        bpf_objects=sum(target.startswith("anon_inode:bpf") for agent in agents for target in handles(agent)),
        namespaces=len(list(Path("/run/netns").iterdir())),
        links=len(list(Path("/sys/class/net").iterdir())),
    )


def descendants(root: int) -> list[Path]:
    parents: dict[int, list[int]] = {}
    for process in Path("/proc").glob("[0-9]*"):
        if stat := read(process / "stat"):
            parents.setdefault(int(stat.rpartition(b")")[2].split()[1]), []).append(int(process.name))
    found, todo = [], [root]
    while todo:
        children = parents.get(todo.pop(), [])
        todo += children
        found += [Path(f"/proc/{child}") for child in children]
    return found


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def resident_kib(process: Path) -> int:
    found = re.search(rb"^VmRSS:\s+(\d+)", read(process / "status"), re.MULTILINE)
    return int(found[1]) if found else 0


def cpu_s(process: Path) -> float:
    """What a process has had of CPUs (proc(5), stat)."""
    user, system = read(process / "stat").rpartition(b")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def handles(process: Path) -> list[str]:
    """What a process has open, as the kernel words it."""
    found = []
    try:
        for handle in (process / "fd").iterdir():
            found.append(os.readlink(handle))  # noqa: PTH115 - a target as the kernel words it
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


@pytest.mark.parametrize(
    ("loads", "blocks"),
    [
        pytest.param(5, 10, id="100 trials", marks=pytest.mark.timeout(1200)),
        pytest.param(1, 30, id="60 trials, each with a guest of its own", marks=pytest.mark.timeout(1200)),
        pytest.param(20, 50, id="2000 trials", marks=[pytest.mark.soak, pytest.mark.timeout(3 * 3600)]),
    ],
)
def test_nothing_grows_with_the_number_of_trials(loads: int, blocks: int, tmp_path: Path) -> None:
    scenario, out = tmp_path / "scenario.yaml", tmp_path / "out"
    scenario.write_text(SCENARIO.format(loads=[1 + load / 10 for load in range(loads)], blocks=blocks))
    process = start("run", scenario, "--out", out)
    assert process.stderr is not None
    said, samples = [], []
    for line in process.stderr:
        said.append(line)
        if re.match(r"\[\d+/", line):
            samples.append(sample(process.pid))
    process.communicate(timeout=600)
    assert process.returncode in (0, 3), said[-3:]
    trials = Result.open(out).query("SELECT * FROM trials ORDER BY trial_id")
    assert trials.num_rows == len(samples) >= 2 * loads * blocks

    quarter = len(samples) // 4
    first, last = samples[:quarter], samples[-quarter:]
    grown = {
        name: (before, after)
        for name, bound in BOUNDS.items()
        if (after := median(getattr(one, name) for one in last))
        > bound(before := max(getattr(one, name) for one in first))
    }
    assert grown == {}
    assert cpu_between(last) < 2 * cpu_between(first)
    if len(samples) < 1000:  # a short campaign may lie partly in a busy moment of the machine
        return
    took_s = [later.at_s - earlier.at_s for earlier, later in pairwise(samples)]
    assert median(took_s[-quarter:]) < 1.3 * median(took_s[:quarter])
    for column in ("wall_s", "ready_s"):
        values = trials[column].to_pylist()
        assert median(values[-quarter:]) < 1.3 * median(values[:quarter])


def cpu_between(samples: list[Sample]) -> float:
    """The controller's own CPU time from the first of them to the last."""
    return samples[-1].controller_cpu_s - samples[0].controller_cpu_s
