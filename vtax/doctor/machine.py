"""The machine itself: permissions, CPUs, kernel and tools."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from vtax.doctor.check import Check
from vtax.machine.agent import agent_binary
from vtax.machine.bridge_netfilter import in_words, read_bridge_netfilter
from vtax.machine.fix import AS_ROOT, build_agent, install, leave_netfilter_out

TOOL_PACKAGES = {
    "tc": "iproute2",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "taskset": "util-linux",
    "modprobe": "kmod",
}


def agent() -> Check:
    """Whether the agent is built."""
    try:
        path = agent_binary()
    except FileNotFoundError:
        return Check("machine", "agent", False, "not built", build_agent())
    return Check("machine", "agent", True, f"{path.stat().st_size / 1e6:.1f} MB static binary")


def root() -> Check:
    """Whether vtax may do what needs root."""
    is_root = os.geteuid() == 0
    detail = "root" if is_root else "namespaces, links and BPF programs need root"
    return Check("machine", "permissions", is_root, detail, None if is_root else AS_ROOT)


def cpus() -> Check:
    """Whether there are CPUs enough."""
    count = len(os.sched_getaffinity(0))
    if count < 2:
        return Check("machine", "CPUs", False, f"{count}; needs two: source and UUT take one each")
    detail = (
        f"{count}" if count >= 3 else f"{count}: host and guest share one, results are labelled shared-core"
    )
    return Check("machine", "CPUs", True, detail)


def cpu_latency() -> Check:
    """Whether idle states can be held off, which add delay."""
    if Path("/dev/cpu_dma_latency").exists():
        return Check("machine", "idle states", True, "idle states are held off during trials")
    detail = "they add delay: no /dev/cpu_dma_latency; needs a boot with idle=poll"
    return Check("machine", "idle states", False, detail)


def btf() -> Check:
    """Whether the kernel describes its types, which following frames needs."""
    if Path("/sys/kernel/btf/vmlinux").exists():
        return Check("machine", "kernel BTF", True, "present")
    detail = (
        "frames are counted, delay stages and drop reasons are not; needs a kernel with CONFIG_DEBUG_INFO_BTF"
    )
    return Check("machine", "kernel BTF", False, detail)


def bridge_netfilter() -> Check:
    """Whether the machine's own bridges spend time on netfilter; vtax sets this in namespaces of its own alone."""
    subject, found = "bridge netfilter", read_bridge_netfilter()
    if found is None:
        detail = "no br_netfilter is loaded: no bridge passes frames to netfilter, nor can one of vtax's"
        return Check("machine", subject, True, detail)
    if not any(found.values()):
        return Check("machine", subject, True, f"this machine's own bridges {in_words(found)}")
    detail = (
        f"this machine's own bridges {in_words(found)}, which takes time, and vtax's do not; "
        "Docker and Kubernetes may need it"
    )
    return Check("machine", subject, False, detail, leave_netfilter_out())


def tool(name: str, find: Callable[[str], str | None] = shutil.which) -> Check:
    """Whether a command is there."""
    path = find(name)
    return Check(
        "machine",
        name,
        path is not None,
        path or "not found",
        None if path else install(TOOL_PACKAGES[name]),
    )
