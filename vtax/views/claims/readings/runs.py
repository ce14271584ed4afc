"""Of runs of iterations, each run's: their mean, their standard deviation, and its share of the run's wall time."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from msgspec.structs import asdict

from vtax.model import numbers
from vtax.model.quantity import Quantity
from vtax.model.runs import run_levels
from vtax.results import Result
from vtax.views.levels import held, levels
from vtax.views.claims.sample import RunSample, Sample
from vtax.views.provenance import Provenance
from vtax.views.rounds import Runs, read_runs

ROUND_NS = Quantity("round_ns", "µs", numbers.microseconds)
DEVIATION_NS = Quantity("deviation_ns", "µs", numbers.microseconds)
TIMED_RATIO = Quantity("timed_ratio", "", numbers.ratio)

QUANTITIES = (ROUND_NS, DEVIATION_NS, TIMED_RATIO)


def read(result: Result, provenance: Provenance) -> dict[str, list[Sample]]:
    """A sample a cell, with a value of each run of which one can be formed."""
    base = held(result)
    found = read_runs(result, provenance.names)

    def samples(values_of: Callable[[Runs], Mapping[int, float]]) -> list[Sample]:
        return [
            RunSample(
                levels=levels(base, runs.platform, asdict(run_levels(runs.setting)), runs.setting.further),
                emulated=provenance.platform(runs.platform).emulated,
                values=values,
                recorded=runs.recorded,
                invalid=runs.invalid,
                ns=runs.ns,
            )
            for runs in found
            if (values := values_of(runs))
        ]

    return {
        ROUND_NS.name: samples(_means),
        DEVIATION_NS.name: samples(lambda runs: dict(enumerate(runs.deviations_ns))),
        TIMED_RATIO.name: samples(_timed),
    }


def _means(runs: Runs) -> dict[int, float]:
    return {run: float(np.nanmean(ns)) for run, ns in enumerate(runs.ns) if not np.isnan(ns).all()}


def _timed(runs: Runs) -> dict[int, float]:
    """What the rounds took that came back, as a share of their run."""
    walls = enumerate(zip(runs.ns, runs.wall_s, strict=True))
    return {run: float(np.nansum(ns)) / 1e9 / wall_s for run, (ns, wall_s) in walls if wall_s}
