"""A footprint of this machine, so that a test can show that nothing was left behind."""

import json
import os
import subprocess
import time
from pathlib import Path

from vtax.platforms import lxc

Footprint = dict[str, set[str]]
FREED_LATER = {"programs", "maps"}
GONE = -1
ROOM = "VTAX_TEST_ROOM"
"""The process whose descendants are all of a room's (`tests/helpers/room`)."""


def footprint() -> Footprint:
    """Everything that a run makes, in this room or on this machine: namespaces, links, processes, scratch files,
    latency requests; outside rooms also cgroups and BPF, which rooms share.
    """
    processes = _processes()
    commands = {_command(process) for process in processes}
    found = {
        "namespaces": _names("/run/netns"),
        "links": _names("/sys/class/net"),
        "scratch": _names("/run/vtax") - {"lock"},
        "LXC's locks": {str(path) for path in lxc.LOCKS.glob("**/vtax*")},
        "processes": {
            command
            for command in commands
            if any(ours in command for ours in ("vtax-agent", "/run/vtax/", "guest=vtax-"))
        },
        "mounts": {
            line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if "vtax" in line
        },
        "latency": {process for process in processes if _holds(process, "/dev/cpu_dma_latency")},
    }
    if ROOM not in os.environ:
        found |= {"cgroups": cgroups(), "programs": _bpf("prog"), "maps": _bpf("map")}
    return found


def cgroups() -> set[str]:
    """All of vtax's on this machine; their names hold those of runs."""
    walk = os.walk("/sys/fs/cgroup")  # it goes on where one ends meanwhile, as glob does not
    return {f"{parent}/{name}" for parent, names, _ in walk for name in names if name.startswith("vtax-")}


def differences(before: Footprint, after: Footprint) -> Footprint:
    """What has come between two footprints, and what has gone.

    Programs and maps that have gone are none of it: the kernel frees them some time after their end, so that an
    earlier test's may have been on their way out when the footprint was taken.
    """
    came_or_went = {
        kind: after[kind] - there if kind in FREED_LATER else after[kind] ^ there
        for kind, there in before.items()
    }
    return {kind: changed for kind, changed in came_or_went.items() if changed}


def settles(before: Footprint, patience_s: float = 60.0) -> bool:
    """Whether the machine soon comes back to a footprint."""
    deadline = time.monotonic() + patience_s
    while differences(before, footprint()):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _processes() -> list[str]:
    """This room's processes, or this machine's: directories of /proc."""
    children: dict[int, list[int]] = {}
    for name in _listed("/proc"):
        if name.isdecimal():
            children.setdefault(_parent(name), []).append(int(name))
    found = []
    generation = children.get(int(os.environ.get(ROOM, "0")), [])
    while generation:
        found += generation
        generation = [child for each in generation for child in children.get(each, [])]
    return [f"/proc/{each}" for each in found]


def _parent(process: str) -> int:
    """The process that started another, or took it over."""
    try:
        status = Path("/proc", process, "stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return GONE
    return int(status.rpartition(") ")[2].split()[1])


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
