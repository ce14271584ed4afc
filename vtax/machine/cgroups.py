"""Machines that mix both versions of cgroups, and a view without version 2 for programs that refuse the mixture.

Such a machine (systemd calls it hybrid) mounts controllers of version 1 beneath /sys/fs/cgroup, and a cgroup2 that
may have the remaining ones as `unified` beside them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MOUNTS = Path("/proc/self/mounts")
ROOT = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Mixture:
    """Where cgroup2 is mounted, and what version 1 controls."""

    cgroup2: Path
    controllers: frozenset[str]

    def hide(self, command: Sequence[str]) -> list[str]:
        """`command` in a mount namespace of its own where cgroup2 is unmounted; it keeps its process id."""
        return [
            *("unshare", "--mount", "--propagation", "private", "--"),
            *("sh", "-c", 'umount "$0" && exec "$@"', str(self.cgroup2)),
            *command,
        ]


def find_mixture(root: Path = ROOT, mounts: Path = MOUNTS) -> Mixture | None:
    """The mixture of this machine; None where either version has all controllers."""
    controllers: set[str] = set()
    cgroup2 = None
    for line in mounts.read_text().splitlines():
        _, directory, kind, options, *_ = line.split()
        if kind == "cgroup":
            controllers.update(options.split(","))
        elif kind == "cgroup2" and Path(directory) == root / "unified":
            cgroup2 = Path(directory)
    if cgroup2 is None or not (cgroup2 / "cgroup.controllers").read_text().strip():
        return None
    return Mixture(cgroup2, frozenset(controllers))
