"""Of runs of iterations, by block: their mean, their standard deviation, and their share of the run's wall time."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import asdict

from vtax.model import numbers
from vtax.model.quantity import Quantity
from vtax.model.runs import run_levels
from vtax.results import Result
from vtax.statistics import PER_MILLE
from vtax.views.claims.sample import RunSample, Sample
from vtax.views.levels import held, levels
from vtax.views.provenance import Provenance
from vtax.views.rounds import Runs, read_runs

ROUND_NS = Quantity("round_ns", "µs", numbers.microseconds)
DEVIATION_NS = Quantity("deviation_ns", "µs", numbers.microseconds)
TIMED_RATIO = Quantity("timed_ratio", "", numbers.ratio)

QUANTITIES = (ROUND_NS, DEVIATION_NS, TIMED_RATIO)


def read(result: Result, provenance: Provenance) -> dict[str, list[Sample]]:
    """A sample a cell, with a value of each block of which one can be formed."""
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
                resolution=PER_MILLE,
                ns=runs.ns,
                blocks=runs.blocks,
            )
            for runs in found
            if (values := values_of(runs))
        ]

    return {
        ROUND_NS.name: samples(lambda runs: runs.means_ns),
        DEVIATION_NS.name: samples(lambda runs: runs.deviations_ns),
        TIMED_RATIO.name: samples(lambda runs: runs.timed_ratios),
    }
