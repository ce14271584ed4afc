"""Weights of the host's packet work against guests: what they may be, and where they cannot be had."""

from pathlib import Path

import pytest

from vtax.machine.cpu_weight import CpuController, can_be_enabled, find_cpu_controller
from vtax.platforms import PlatformUnusable, egress_qdisc
from vtax.platforms.egress_qdisc import GuestConfig


def test_either_version_of_cgroups_is_found(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"cgroup {tmp_path} cgroup rw,relatime,cpu,cpuacct 0 0\n")
    assert find_cpu_controller(tmp_path, mounts) == CpuController(tmp_path, "cpu.shares", 1024)

    mounts.write_text(f"cgroup2 {tmp_path} cgroup2 rw,relatime 0 0\n")
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io\n")
    (tmp_path / "cgroup.subtree_control").write_text("memory\n")
    assert find_cpu_controller(tmp_path, mounts) is None
    assert can_be_enabled(tmp_path)
    (tmp_path / "cgroup.subtree_control").write_text("memory cpu\n")
    assert find_cpu_controller(tmp_path, mounts) == CpuController(tmp_path, "cpu.weight", 100)


def test_a_weight_that_cannot_be_had_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress_qdisc, "find_cpu_controller", lambda: None)
    GuestConfig().check_scheduling()
    assert GuestConfig().facts == {"host_weight": 1, "weighed_by": None, "pinned": False}
    monkeypatch.setattr(egress_qdisc, "can_be_enabled", lambda: True)
    with pytest.raises(PlatformUnusable, match="host_weight=32, but cgroups cannot") as refused:
        GuestConfig(host_weight=32).check_scheduling()
    assert refused.value.fix.startswith("echo +cpu > ")


def test_every_guest_has_the_key_within_bounds() -> None:
    with pytest.raises(ValueError, match="less than or equal to 100"):
        GuestConfig(host_weight=101)
