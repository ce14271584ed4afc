"""CPU weights: cgroups side by side, which the scheduler gives the CPU that they share by their weights.

A cgroup has its weight as a whole, whatever number of threads it runs. Niceness would not do: it weighs among threads
of one group, and a session's processes are a group of their own (sched(7), autogroup). Soft interrupts run on top of
whatever thread they meet: no weight holds for them.
"""

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from vtax.machine.ownership import REMOVAL_LIMIT_S, Name, Owned, OwnershipRecord

MOUNTS = Path("/proc/self/mounts")
ROOT = Path("/sys/fs/cgroup")
ADMIT = 'echo $$ > "$0" && exec "$@"'
LOOK_AGAIN_S = 0.01


@dataclass(frozen=True)
class CpuController:
    """The cgroup controller `cpu` in either version (cgroup-v1/sched-design-CFS.rst, cgroup-v2.rst of the kernel)."""

    root: Path
    file: str
    default: int
    """What a cgroup has that nobody gave a weight."""

    def make_group(self, name: str, weight: int, record: OwnershipRecord) -> "WeightedGroup":
        """A new cgroup at the top, of `weight` times the default."""
        group = WeightedGroup(self.root / name)
        record.add(Cgroup(name))
        group.path.mkdir()
        (group.path / self.file).write_text(str(weight * self.default))
        return group


@dataclass(frozen=True)
class WeightedGroup:
    """A cgroup with a weight."""

    path: Path

    @property
    def admission(self) -> list[str]:
        """What precedes a command that shall run in it, with all that the command starts."""
        return ["sh", "-c", ADMIT, str(self.path / "cgroup.procs")]

    def take(self, pid: int) -> None:
        """Move a process or a kernel thread here; its CPUs stay."""
        cpus = os.sched_getaffinity(pid)
        (self.path / "cgroup.procs").write_text(str(pid))
        os.sched_setaffinity(pid, cpus)  # some kernels give a newcomer all CPUs of the cgroup

    def remove(self) -> None:
        """Remove it; what cannot be removed now is still in the run's record."""
        with contextlib.suppress(OSError):
            Cgroup(self.path.name).remove()


class Cgroup(Owned, frozen=True, tag="cgroup"):
    """A cgroup at the top of a hierarchy."""

    name: Name

    def is_there(self) -> bool:
        """See Owned."""
        return any(place.is_dir() for place in self._places)

    def remove(self) -> None:
        """Remove it; kernel threads, which end later with their interfaces, go back to where they came from."""
        deadline = time.monotonic() + REMOVAL_LIMIT_S
        for place in self._places:
            while place.is_dir():
                try:
                    place.rmdir()
                except OSError:
                    if time.monotonic() > deadline:
                        raise
                    _empty(place)

    @property
    def _places(self) -> list[Path]:
        return [place / self.name for place in _hierarchies(MOUNTS)]


def _empty(group: Path) -> None:
    """Move what is in a cgroup to the one above. What is on its way out can still keep the cgroup for a moment."""
    for pid in _words(group / "cgroup.procs"):
        with contextlib.suppress(OSError):
            (group.parent / "cgroup.procs").write_text(pid)
    time.sleep(LOOK_AGAIN_S)


def _hierarchies(mounts: Path) -> list[Path]:
    """Where cgroups of either version are mounted."""
    lines = (line.split() for line in mounts.read_text().splitlines())
    return [Path(directory) for _, directory, kind, *_ in lines if kind in ("cgroup", "cgroup2")]


def find_cpu_controller(root: Path = ROOT, mounts: Path = MOUNTS) -> CpuController | None:
    """The controller as cgroups at the top can have it; None where they cannot."""
    found = None
    for line in mounts.read_text().splitlines():
        _, directory, kind, options, *_ = line.split()
        if kind == "cgroup" and "cpu" in options.split(","):
            found = CpuController(Path(directory), "cpu.shares", 1024)
    if found is None and "cpu" in _words(root / "cgroup.subtree_control"):
        found = CpuController(root, "cpu.weight", 100)
    return found if found is not None and os.access(found.root, os.W_OK) else None


def can_be_enabled(root: Path = ROOT) -> bool:
    """Whether there is a controller of version 2 that only has to be handed down to cgroups at the top."""
    return "cpu" in _words(root / "cgroup.controllers")


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []
