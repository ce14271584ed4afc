"""Quotas of CPU time, of cgroups of either version."""

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from vtax.machine.cpu_weight import find_cpu_controller

REAL_TIME_US: Final = 10_000
"""Of each second, that threads of real-time priority may have: little, for removed cgroups keep theirs a while."""


@contextlib.contextmanager
def quota(name: str, quota_us: int, period_us: int) -> Iterator[Path]:
    """Make a cgroup whose processes have so much of each period of a CPU; at the end they go back to the root's.

    Yields its directory. Raises OSError where this machine has no such quotas.
    """
    controller = find_cpu_controller()
    if controller is None:
        raise OSError("cgroups cannot have quotas of CPU time here")
    group = controller.root / f"vtax-{name}-{uuid.uuid4().hex[:6]}"
    group.mkdir()
    try:
        if controller.file == "cpu.shares":
            (group / "cpu.cfs_period_us").write_text(f"{period_us}")
            (group / "cpu.cfs_quota_us").write_text(f"{quota_us}")
            real_time = group / "cpu.rt_runtime_us"
            if real_time.exists():  # on a kernel where threads of real-time priority need an allowance
                real_time.write_text(f"{REAL_TIME_US}")
        else:
            (group / "cpu.max").write_text(f"{quota_us} {period_us}")
        yield group
    finally:
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):  # it has ended
                (controller.root / "cgroup.procs").write_text(pid)
        group.rmdir()
