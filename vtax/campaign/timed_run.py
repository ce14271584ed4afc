"""A run of iterations that are timed one by one, whoever times them: what it brought home, as rows and in words."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from vtax.campaign.observed import Observed
from vtax.campaign.round_trip_rows import columns_of
from vtax.results import Row
from vtax.statistics import Distribution

DONE = "done"


@dataclass
class TimedRun(Observed):
    """A run's samples."""

    times_ns: tuple[int, int] | None = None
    """Moments before the first iteration and after the last; None of a run that failed."""
    ns: list[int | None] = field(default_factory=list)
    """Of each iteration what it took; of one that failed what it took to know, if that is known."""
    undone: dict[int, str] = field(default_factory=dict)
    """How those ended that failed."""

    @property
    def phases_s(self) -> tuple[float, float]:
        """No warm-up; from before the first iteration to after the last."""
        start_ns, end_ns = self.times_ns or (0, 0)
        return 0.0, (end_ns - start_ns) / 1e9

    @property
    def done_ns(self) -> list[int]:
        """What the iterations took that did not fail."""
        return [ns for at, ns in enumerate(self.ns) if at not in self.undone and ns is not None]


def sample_rows(measured: TimedRun) -> Iterator[Row]:
    """A row of `samples` for each iteration."""
    for iteration, ns in enumerate(measured.ns):
        status = measured.undone.get(iteration, DONE)
        yield {"run": measured.cell.run or 0, "iteration": iteration, "ns": ns, "status": status}


def run_flow(measured: TimedRun) -> Row:
    """The run's row of `flows`. Quantiles are over all that began: a failed one is later than every other."""
    done_ns = np.array(measured.done_ns, dtype=np.int64)
    values, counts = np.unique(done_ns, return_counts=True)
    made, failed = len(measured.ns), len(measured.undone)
    distribution = Distribution(values, counts, lost=failed)
    _, duration_s = measured.phases_s
    least, mean, most = (
        (int(done_ns.min()), float(done_ns.mean()), int(done_ns.max()))
        if len(done_ns)
        else (None, None, None)
    )
    return {
        "trial_id": measured.trial,
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


def run_headline(measured: TimedRun, what: str, nothing: str) -> str:
    """A run's last number for whoever watches: `what` took so long, or `nothing`."""
    if measured.failure is not None:
        return measured.failure.splitlines()[0]
    done_ns: Sequence[int] = measured.done_ns
    failed = f"{len(measured.undone)} failed"
    if not done_ns:
        return f"{nothing}, {failed}"
    mean_us, most_us = statistics.fmean(done_ns) / 1000, max(done_ns) / 1000
    return (
        f"{what} takes {mean_us:.2f} µs on average (n = {len(done_ns)}), at most {most_us:.0f} µs, {failed}"
    )
