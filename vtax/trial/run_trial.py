"""A run of iterations that are timed one by one, whoever times them: how it is made, its rows, its key figure."""

import contextlib
import statistics
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import ClassVar

import numpy as np

from vtax.results import Row, TrialRecord
from vtax.statistics import Distribution
from vtax.trial.observed import Observed
from vtax.trial.round_trip_rows import columns_of
from vtax.trial.template import P, Trial

DONE = "done"


class RunTrial(Trial[P]):
    """A trial that lasts as long as its iterations take."""

    keeps_cpus_awake = True
    iteration: ClassVar[str]
    """An iteration in words."""
    none_done: ClassVar[str]
    """Why there is no time, where no iteration ended well."""

    def __init__(self, observed: Observed) -> None:
        super().__init__(observed)
        self.times_ns = (0, 0)
        """Moments before the first iteration and after the last."""
        self.ns: list[int | None] = []
        """Of each iteration what it took; of one that failed what it took to know, if that is known."""
        self.undone: dict[int, str] = {}
        """How those ended that failed."""

    def run(self, path: P) -> None:
        """Open, go, observe until all iterations are made, collect, close."""
        uut = path.testbed.uut
        with contextlib.ExitStack() as opened:
            self.open(path, opened)
            before = uut.counters(path.uut_cpus)
            with self.made():
                self.observed.cpu = (before, uut.counters(path.uut_cpus))
            self.collect()

    @abstractmethod
    def open(self, path: P, opened: contextlib.ExitStack) -> None:
        """Start what is timed; `opened` ends it after the trial."""

    @abstractmethod
    def made(self) -> AbstractContextManager[None]:
        """Return what makes all iterations as it is entered."""

    @abstractmethod
    def collect(self) -> None:
        """Take what came of the run."""

    @property
    def phases_s(self) -> tuple[float, float]:
        """No warm-up; from before the first iteration to after the last."""
        start_ns, end_ns = self.times_ns
        return 0.0, (end_ns - start_ns) / 1e9

    @property
    def done_ns(self) -> list[int]:
        """What the iterations took that did not fail."""
        return [ns for at, ns in enumerate(self.ns) if at not in self.undone and ns is not None]

    def rows(self) -> TrialRecord:
        """Return a flow and the samples."""
        return TrialRecord(trial={}, flows=[self._flow()], samples=list(self._samples()))

    def key_figure(self) -> str:
        """Return the mean and the greatest time of an iteration."""
        done_ns, failed = self.done_ns, f"{len(self.undone)} failed"
        if not done_ns:
            return f"{self.none_done}, {failed}"
        mean_us, most_us = statistics.fmean(done_ns) / 1000, max(done_ns) / 1000
        return (
            f"{self.iteration} takes {mean_us:.2f} µs on average (n = {len(done_ns)}), "
            f"at most {most_us:.0f} µs, {failed}"
        )

    def _samples(self) -> Iterator[Row]:
        """Yield a row of `samples` for each iteration."""
        for iteration, ns in enumerate(self.ns):
            status = self.undone.get(iteration, DONE)
            yield {"run": self.observed.cell.run or 0, "iteration": iteration, "ns": ns, "status": status}

    def _flow(self) -> Row:
        """Return the row of `flows`. Quantiles are over all that began: a failed one is later than every other."""
        done_ns = np.array(self.done_ns, dtype=np.int64)
        values, counts = np.unique(done_ns, return_counts=True)
        made, failed = len(self.ns), len(self.undone)
        distribution = Distribution(values, counts, lost=failed)
        _, duration_s = self.phases_s
        least, mean, most = (
            (int(done_ns.min()), float(done_ns.mean()), int(done_ns.max()))
            if len(done_ns)
            else (None, None, None)
        )
        return {
            "trial_id": self.observed.trial,
            "role": "victim",
            "guest": 0,
            "stream": 0,
            "transactions": made - failed,
            "failed": failed,
            "loss_ratio": failed / made if made else None,
            "probes_sent": made,
            **columns_of(distribution, made - failed, least, mean, most),
            "latency_deviation_ns": distribution.deviation,
            "duration_s": duration_s,
        }
