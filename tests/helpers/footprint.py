"""A footprint of this machine, so that a test can show that nothing was left behind."""

import json
import os
import subprocess
import time
from pathlib import Path

from vtax.platforms import lxc

FREED_LATER = {"programs", "maps"}


def footprint() -> dict[str, set[str]]:
    """Everything on this machine that a run makes: namespaces, links, processes, scratch files, latency requests."""
    processes = [process.path for process in os.scandir("/proc") if process.name.isdecimal()]
    commands = {_command(process) for process in processes}
    return {
        "namespaces": _names("/run/netns"),
        "links": _names("/sys/class/net"),
        "scratch": _names("/run/vtax") - {"lock"},
        "LXC's locks": {str(path) for path in lxc.LOCKS.glob("**/vtax*")},
        "processes": {
            command
            for command in commands
            if any(ours in command for ours in ("vtax-agent", "/run/vtax/", "guest=vtax-"))
        },
        "cgroups": {str(path) for path in Path("/sys/fs/cgroup").glob("**/vtax-*") if path.is_dir()},
        "mounts": {
            line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if "vtax" in line
        },
        "programs": _bpf("prog"),
        "maps": _bpf("map"),
        "latency": {process for process in processes if _holds(process, "/dev/cpu_dma_latency")},
    }


def differences(before: dict[str, set[str]], after: dict[str, set[str]]) -> dict[str, set[str]]:
    """What has come between two footprints, and what has gone.

    Programs and maps that have gone are none of it: the kernel frees them some time after their end, so that an
    earlier test's may have been on their way out when the footprint was taken.
    """
    came_or_went = {
        kind: after[kind] - there if kind in FREED_LATER else after[kind] ^ there
        for kind, there in before.items()
    }
    return {kind: changed for kind, changed in came_or_went.items() if changed}


def settles(before: dict[str, set[str]], patience_s: float = 5.0) -> bool:
    """Whether the machine soon comes back to a footprint."""
    deadline = time.monotonic() + patience_s
    while differences(before, footprint()):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _bpf(kind: str) -> set[str]:
    listed = subprocess.run(["bpftool", "-j", kind, "show"], check=True, capture_output=True, text=True)
    return {f"{item['id']} {item.get('name')}" for item in json.loads(listed.stdout or "[]") if "id" in item}


def _holds(process: str, target: str) -> bool:
    """Whether a process has that file open."""
    handles = f"{process}/fd"
    # Strings, not paths: a machine has thousands of handles, and a footprint is taken before and after each test.
    for handle in _listed(handles):
        try:
            if os.readlink(f"{handles}/{handle}") == target:  # noqa: PTH115
                return True
        except OSError:  # closed meanwhile
            continue
    return False


def _names(directory: str) -> set[str]:
    return set(_listed(directory))


def _listed(directory: str) -> list[str]:
    try:
        return os.listdir(directory)  # noqa: PTH208 - names are all that is wanted
    except (FileNotFoundError, ProcessLookupError):
        return []


def _command(process: str) -> str:
    try:
        return Path(process, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""
