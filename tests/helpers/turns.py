"""Turns on the machine: system tests run side by side; one that measures runs alone, once the machine is quiet.

Tests of one run, whose workers may be several processes, share a file: a lock, and in it the seconds that tests have
waited for quiet so far.
"""

import contextlib
import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

PATIENCE_S = 300.0
"""How long all tests of a run may wait for quiet, together."""
QUIET_SHARE = 0.1
"""A machine is quiet that uses less of its CPUs than this while no test runs."""
LOOK_S = 0.5
BUSY = "machine busy"
# The first process of a run names the file, and its workers inherit the name.
SHARED = Path(
    os.environ.setdefault("VTAX_TEST_TURNS", f"{tempfile.gettempdir()}/vtax-tests-{os.getpid()}.turns")
)


def measures(item: pytest.Item) -> bool:
    """Whether a test needs a quiet machine."""
    return item.get_closest_marker("measures") is not None


@contextlib.contextmanager
def turn(item: pytest.Item) -> Iterator[None]:
    """Hold the machine for a test: alone if it measures, else with others."""
    with SHARED.open("a+") as shared:
        fcntl.flock(shared, fcntl.LOCK_EX if measures(item) else fcntl.LOCK_SH)
        yield


def wait_for_quiet() -> None:
    """Wait until others leave the machine alone; skip the test once all tests have lost their patience."""
    waited_s = float(SHARED.read_text() or 0)
    began = time.monotonic()
    while (share := busy_share()) >= QUIET_SHARE:
        now_s = waited_s + time.monotonic() - began
        SHARED.write_text(str(now_s))
        if now_s > PATIENCE_S:
            pytest.skip(
                f"{BUSY}: others used {share:.0%} of its CPUs, and tests have waited {now_s:.0f} s for quiet"
            )


def excuse(report: pytest.TestReport) -> None:
    """Take a failure for what it is if others use the machine right after it."""
    share = busy_share()
    if share >= QUIET_SHARE:
        path, line, _ = report.location
        report.outcome = "skipped"
        report.longrepr = (
            path,
            line or 0,
            f"Skipped: {BUSY}: others used {share:.0%} of its CPUs as it failed",
        )


def busy_share() -> float:
    """The share of all CPUs that was in use, or was stolen, for half a second."""
    before = _cpu_ticks()
    time.sleep(LOOK_S)
    total, idle = (after - then for after, then in zip(_cpu_ticks(), before, strict=True))
    return 1.0 - idle / total


def _cpu_ticks() -> tuple[int, int]:
    """All ticks of all CPUs, and the idle ones (proc_stat(5))."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return sum(ticks), ticks[3] + ticks[4]


def forget() -> None:
    """Remove what the run's tests shared."""
    SHARED.unlink(missing_ok=True)
