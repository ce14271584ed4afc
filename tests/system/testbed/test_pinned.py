"""Virtual CPUs on CPUs of their own: guests keep to them."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.campaigns import assert_measured, vtax
from tests.helpers.two_cpus import two_cpus
from vtax.machine.cpu import threads_of
from vtax.platforms import GuestPlan, container, qemu
from vtax.results import Result
from vtax.testbed.layout import cpu_layout

pytestmark = pytest.mark.system


@two_cpus
def test_each_virtual_cpu_of_an_emulator_keeps_to_one_cpu(plan: GuestPlan) -> None:
    config = qemu.Config(vcpus=2, pinned=True, accelerator="emulated")
    guest = qemu.Kind().start(replace(plan, config=config, cpus=[0, 1], pinned=[1, 0]))
    try:
        cpus = {component: os.sched_getaffinity(tid) for tid, (_, component) in guest.threads().items()}
    finally:
        guest.stop()
    assert cpus == {"vcpu 0": {1}, "vcpu 1": {0}, "emulator": {0, 1}}


@two_cpus
@pytest.mark.parametrize("pinned", [[], [1]])
def test_a_container_keeps_to_one_cpu(pinned: list[int], plan: GuestPlan) -> None:
    expected, plan = set(pinned or [0, 1]), replace(plan, cpus=[0, 1], pinned=pinned)
    guest = container.Kind().start(replace(plan, config=container.Config(runtime="runc")))
    try:
        assert _cpus_of_children(guest.agent.process.pid) == expected
    finally:
        guest.stop()


def _cpus_of_children(pid: int) -> set[int]:
    children = [
        int(child)
        for thread in threads_of(pid)
        for child in Path(f"/proc/{pid}/task/{thread}/children").read_text().split()
    ]
    return {cpu for child in children for cpu in os.sched_getaffinity(child)}


@pytest.mark.usefixtures("leaves_nothing")
def test_a_campaign_says_what_is_pinned(scenario: Path, tmp_path: Path) -> None:
    options = ["--set", "platform.pinned=false,true", "--set", "intended_mbps=5", "--repetitions", "1"]
    done = vtax("run", scenario, "--platform", "container", *options, "--out", tmp_path / "out")
    assert_measured(done)
    facts = Result.open(tmp_path / "out").campaign["platforms"]["container"]["facts"]
    assert facts["pinned"] == [False, True]
    alone = len(cpu_layout()["guests"]) == 1
    assert ("pinned changes nothing" in done.stderr) == alone
