"""A trial with a warm-up and a measured window of given lengths, in which nothing crosses a control stream."""

import contextlib
import gc
import time
from abc import abstractmethod
from collections.abc import Iterator

from vtax.keys.workload import TimedKeys
from vtax.testbed.cpu_time import CpuCounters
from vtax.trial.template import P, Trial

SAMPLE_INSET_S = 0.03
"""CPU samples lie this far inside the measured window: the controller learns its exact bounds only afterwards."""
SAMPLE_AHEAD_S = 0.015
"""With a warm-up of twice that, the first lies so far ahead of the window: reading it uses the source's CPU."""
HEAD_START_S = 0.05
"""How far ahead the moment lies at which those who share the host's clock begin together."""
PATIENCE_S = 10
"""How much longer than its phases an answer about them may take."""


class WindowTrial(Trial[P]):
    """A trial that lasts as long as its cell says."""

    def run(self, path: P) -> None:
        """Open, arm, go, observe the window, collect, close."""
        observed, work = self.observed, self.observed.cell.of(TimedKeys)
        with contextlib.ExitStack() as opened:
            self.open(path, opened)
            self.arm()
            begin = time.monotonic() + self.head_start_s
            path.neighbours.go(begin)
            ahead_s = begin - time.monotonic()
            first_s, last_s = sample_times_s(work)
            path.cpu_meter.arm(ahead_s + first_s, last_s - first_s)
            with _no_collection():
                self._watch_cpus(path, self.go(begin))
            self.collect()
            observed.sampled = path.cpu_meter.read()

    def _watch_cpus(self, path: P, begun: float) -> None:
        """Count CPU time in the window of a trial that began at a moment of the host's clock; returns at its end."""
        observed, uut = self.observed, path.testbed.uut
        first_s, last_s = sample_times_s(observed.cell.of(TimedKeys))
        _sleep_until(begun + first_s)
        first, far_first = uut.counters(path.uut_cpus), self.count_far_end(path)
        _sleep_until(begun + last_s)
        last, far_last = uut.counters(path.uut_cpus), self.count_far_end(path)
        observed.cpu = (first, last)
        if far_first is not None and far_last is not None:
            observed.far_end_cpu = (far_first, far_last)

    @property
    def phases_s(self) -> tuple[float, float]:
        """As the cell says."""
        work = self.observed.cell.of(TimedKeys)
        return work.warmup_s, work.duration_s

    @property
    def patience_s(self) -> float:
        """How long an answer about its phases is waited for, once it goes."""
        return sum(self.phases_s) + PATIENCE_S

    @property
    def head_start_s(self) -> float:
        """How far ahead the moment lies at which it goes, once all is armed."""
        return 0.0

    @abstractmethod
    def open(self, path: P, opened: contextlib.ExitStack) -> None:
        """Open what sends and receives; `opened` closes it after the trial."""

    def arm(self) -> None:
        """Have all that waits for the trial's traffic await it."""

    @abstractmethod
    def go(self, begin: float) -> float:
        """Have all begin at a moment of the host's clock, or as soon after it as can be; returns when they did."""

    def count_far_end(self, path: P) -> CpuCounters | None:
        """Count the CPU time of bare far ends until now; None where that is not asked."""
        return None

    @abstractmethod
    def collect(self) -> None:
        """Wait for the end and take what came of it."""


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Put off Python's garbage collection, which would run on the source's CPU: 50 ms for 97,000 objects."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def sample_times_s(work: TimedKeys) -> tuple[float, float]:
    """Return when CPU time is counted, in seconds from the trial's begin: about its window's begin, and its end."""
    is_warm = work.warmup_s >= 2 * SAMPLE_AHEAD_S
    first_s = work.warmup_s + (-SAMPLE_AHEAD_S if is_warm else SAMPLE_INSET_S)
    return first_s, work.warmup_s + work.duration_s - SAMPLE_INSET_S


def _sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))
