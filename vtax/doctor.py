"""What this machine can measure, what it cannot, and why."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vtax.machine.agent import agent_binary
from vtax.platforms import PlatformUnusable, presets


@dataclass(frozen=True)
class Check:
    """One line of the doctor's table."""

    group: str
    subject: str
    usable: bool
    detail: str
    remedy: str | None = None


def examine() -> list[Check]:
    """Look at this machine without changing it or starting anything."""
    checks = [
        _agent(),
        _root(),
        _cpus(),
        _cpu_latency(),
        _btf(),
        *map(_tool, ("tc", "nsenter", "taskset", "modprobe")),
    ]
    return checks + [_platform(name) for name in presets()]


def _platform(name: str) -> Check:
    preset = presets()[name]
    try:
        preset.platform().check()
    except PlatformUnusable as unusable:
        return Check("platform", name, False, unusable.reason, unusable.remedy)
    return Check("platform", name, True, preset.title)


def _agent() -> Check:
    try:
        path = agent_binary()
    except FileNotFoundError as error:
        return Check("machine", "agent", False, str(error), "make build")
    return Check("machine", "agent", True, f"{path.stat().st_size / 1e6:.1f} MB static binary")


def _root() -> Check:
    is_root = os.geteuid() == 0
    detail = "root" if is_root else "namespaces, links and BPF programs need root"
    return Check("machine", "permissions", is_root, detail, None if is_root else "run vtax with sudo")


def _cpus() -> Check:
    count = len(os.sched_getaffinity(0))
    if count < 2:
        return Check(
            "machine", "CPUs", False, f"{count}; source and UUT need one each", "give the machine two CPUs"
        )
    detail = (
        f"{count}" if count >= 3 else f"{count}: host and guest share one, results are labelled shared-core"
    )
    return Check("machine", "CPUs", True, detail)


def _cpu_latency() -> Check:
    present = Path("/dev/cpu_dma_latency").exists()
    detail = (
        "idle states are held off during trials"
        if present
        else "no /dev/cpu_dma_latency: idle states add delay"
    )
    return Check(
        "machine",
        "idle states",
        present,
        detail,
        None if present else "boot with idle=poll, or accept the delay",
    )


def _btf() -> Check:
    present = Path("/sys/kernel/btf/vmlinux").exists()
    return Check(
        "machine",
        "kernel BTF",
        present,
        "present" if present else "absent; packet counting works, delay stages will not",
        None if present else "use a kernel with CONFIG_DEBUG_INFO_BTF",
    )


TOOL_PACKAGES = {"tc": "iproute2", "nsenter": "util-linux", "taskset": "util-linux", "modprobe": "kmod"}


def _tool(name: str, find: Callable[[str], str | None] = shutil.which) -> Check:
    path = find(name)
    return Check(
        "tool",
        name,
        path is not None,
        path or "not found",
        None if path else f"apt-get install {TOOL_PACKAGES[name]}",
    )
