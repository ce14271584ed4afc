"""A quiet machine, which a test that measures needs."""

import os
import time
from pathlib import Path

import pytest

PATIENCE_S = 300.0
"""How long all tests of a run may wait for quiet, together."""
QUIET_SHARE = 0.1
"""A machine is quiet that uses less of its CPUs than this while no test runs."""
LOOK_S = 0.2
LONGER_LOOK_S = 0.5
"""At what a test failed by, which may be over soon."""
BUSY = "machine busy"
WORKERS = "PYTEST_XDIST_WORKER_COUNT"
UNFIT = pytest.StashKey[str]()
"""Why a test that measures cannot run, if so."""
_waited_s = 0.0


def measures(item: pytest.Item) -> bool:
    """Whether a test needs a quiet machine."""
    return item.get_closest_marker("measures") is not None


def wait_for_quiet(item: pytest.Item) -> None:
    """Wait until others leave the machine alone, or all tests of this run have lost their patience."""
    global _waited_s  # noqa: PLW0603
    if int(os.environ.get(WORKERS, "1")) > 1:
        item.stash[UNFIT] = (
            "a test that measures runs in one worker: leave it out of this run by 'not measures'"
        )
        return
    while (share := busy_share(LOOK_S)) >= QUIET_SHARE:
        _waited_s += LOOK_S
        if _waited_s > PATIENCE_S:
            item.stash[UNFIT] = (
                f"{BUSY}: others used {share:.0%} of its CPUs, and tests have waited {_waited_s:.0f} s for quiet"
            )
            return


def excuse(report: pytest.TestReport) -> None:
    """Take a failure for what it is if others use the machine right after it."""
    share = busy_share(LONGER_LOOK_S)
    if share >= QUIET_SHARE:
        path, line, _ = report.location
        report.outcome = "skipped"
        report.longrepr = (
            path,
            line or 0,
            f"Skipped: {BUSY}: others used {share:.0%} of its CPUs as it failed",
        )


def busy_share(look_s: float) -> float:
    """The share of all CPUs that was in use, or was stolen, for so long."""
    before = _cpu_ticks()
    time.sleep(look_s)
    total, idle = (after - then for after, then in zip(_cpu_ticks(), before, strict=True))
    return 1.0 - idle / total


def _cpu_ticks() -> tuple[int, int]:
    """All ticks of all CPUs, and the idle ones (proc_stat(5))."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return sum(ticks), ticks[3] + ticks[4]
