"""What rounds of relays, or iterations of client programs, took: statistics of all runs of a cell, and the mesh."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

from vtax.documents.show.published import PublishedRounds
from vtax.model.estimate import Estimate, estimate, estimate_of_known
from vtax.model.platform import Platform, references
from vtax.model.published import printed_rows
from vtax.model.reading import recorded_cells
from vtax.model.recorded import Recorded
from vtax.model.runs import RunLevels, run_levels
from vtax.results import Result
from vtax.results.stored import StoredScenario
from vtax.statistics import PER_MILLE, Change, in_pairs, relative_change, samples_needed

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}

_RUNS = """
SELECT trial_id, cell, block, flows.duration_s AS wall_s FROM trials JOIN flows USING (trial_id)
WHERE verdict <> 'invalid' ORDER BY cell, block, run
"""


class _Run(Struct, frozen=True):
    """A usable run."""

    trial_id: int
    cell: str
    block: int
    wall_s: float


@dataclass(frozen=True)
class Rounds(Recorded):
    """The rounds of a cell, all its runs together; those that failed have no time, and are later than every other in
    the quantiles, which are None of too few.

    The runs of a block share a guest and a stretch of time: each block is one value. So `mean_ns` has its interval over
    the blocks, as have `wall_s`, of a run, and `timed_ratio`, the share of it that was timed (matthews2009, section
    4.1). `dispersion` is the standard deviation within a run over that of the reference's runs, the geometric mean of
    the blocks' ratios, and `dispersion_p` the chance of one so far from 1 where they are the same. One block has no
    interval, and is compared with nothing.
    """

    runs: int
    rounds: int
    failed_ratio: float | None
    mean_ns: Estimate | None
    deviation_ns: float | None
    min_ns: float | None
    p50_ns: float | None
    p90_ns: float | None
    p99_ns: float | None
    p999_ns: float | None
    max_ns: float | None
    wall_s: Estimate | None
    timed_ratio: Estimate | None
    reference: str | None
    dispersion: Estimate | None
    dispersion_p: float | None


@dataclass(frozen=True, eq=False)
class Runs(Recorded):
    """The usable runs of a cell in their order: `ns` of shape (runs, iterations), NaN where a round failed.

    `blocks` are the runs' blocks. Values are by block: the mean of those runs of it that have one.
    """

    ns: NDArray[np.float64]
    wall_s: list[float]
    blocks: list[int]

    @property
    def walls_s(self) -> dict[int, float]:
        """The wall time of a run."""
        return self._by_block(self.wall_s)

    @property
    def means_ns(self) -> dict[int, float]:
        """The mean of a run's rounds that came back."""
        return self._by_block(float(run.mean()) if len(run) else None for run in self._done)

    @property
    def deviations_ns(self) -> dict[int, float]:
        """The standard deviation within a run of two rounds or more that came back."""
        return self._by_block(float(run.std(ddof=1)) if len(run) > 1 else None for run in self._done)

    @property
    def timed_ratios(self) -> dict[int, float]:
        """What the rounds took that came back, as a share of their run, whose wall time has its failed ones as well."""
        runs = zip(self._done, self.wall_s, strict=True)
        return self._by_block(float(run.sum()) / 1e9 / wall_s if wall_s else None for run, wall_s in runs)

    @property
    def _done(self) -> Iterator[NDArray[np.float64]]:
        """The rounds of each run that came back."""
        return (run[~np.isnan(run)] for run in self.ns)

    def _by_block(self, values: Iterable[float | None]) -> dict[int, float]:
        found: dict[int, list[float]] = {}
        for block, value in zip(self.blocks, values, strict=True):
            if value is not None:
                found.setdefault(block, []).append(value)
        return {block: fmean(known) for block, known in found.items()}


def read_runs(result: Result, platforms: tuple[str, ...]) -> list[Runs]:
    """Every cell that has a recorded run, with its usable ones, in the order setting, platform."""
    rows = result.read(_RUNS, _Run)
    samples = result.tables["samples"]
    found = []
    for cell in recorded_cells(result, RunLevels):
        own = [row for row in rows if row.cell == cell.key]
        found.append(
            Runs(
                key=cell.key,
                platform=cell.platform,
                setting=cell.setting,
                recorded=cell.recorded,
                invalid=cell.invalid,
                suspect=cell.suspect,
                ns=_matrix(samples, [row.trial_id for row in own]),
                wall_s=[row.wall_s for row in own],
                blocks=[row.block for row in own],
            )
        )
    rank = {name: position for position, name in enumerate(platforms)}
    return sorted(found, key=lambda runs: (runs.setting, rank[runs.platform]))


def round_statistics(found: Sequence[Runs], platforms: Sequence[Platform]) -> list[Rounds]:
    """A row a cell, in the order of `found`."""
    pairs = references(platforms)
    by_place = {(runs.platform, runs.setting): runs for runs in found}
    rows = []
    for runs in found:
        reference = pairs.get(runs.platform)
        other = by_place.get((reference, runs.setting)) if reference else None
        rows.append(_statistics(runs, reference if other else None, other))
    return rows


def published_rounds(scenario: StoredScenario, measured: Iterable[Rounds]) -> list[PublishedRounds]:
    """What the scenario's source prints of rounds of one hop over the network, where such were measured."""
    is_comparable = any(
        run_levels(row.setting).load == "network" and run_levels(row.setting).hops == 1 for row in measured
    )
    return [PublishedRounds(**row) for row in printed_rows(scenario, "table1.csv") if is_comparable]


def _matrix(samples: pa.Table, trials: Sequence[int]) -> NDArray[np.float64]:
    """Times of shape (trials, iterations)."""
    own = samples.filter(pc.is_in(samples["trial_id"], value_set=pa.array(trials, pa.int64())))
    iteration = own["iteration"].to_numpy()
    times = np.full((len(trials), int(iteration.max(initial=-1)) + 1), np.nan)
    rank = {trial: row for row, trial in enumerate(trials)}
    distinct, place = np.unique(own["trial_id"].to_numpy(), return_inverse=True)
    rows = np.array([rank[trial] for trial in distinct.tolist()], dtype=np.int64)[place]
    done = pc.equal(own["status"], "done").to_numpy()
    times[rows[done], iteration[done]] = own["ns"].to_numpy()[done]
    return times


def _statistics(runs: Runs, reference: str | None, other: Runs | None) -> Rounds:
    done = np.sort(runs.ns[~np.isnan(runs.ns)])
    rounds = runs.ns.size
    dispersion = _dispersion(runs, other) if other else None
    return Rounds(
        key=runs.key,
        platform=runs.platform,
        setting=runs.setting,
        recorded=runs.recorded,
        invalid=runs.invalid,
        suspect=runs.suspect,
        runs=len(runs.ns),
        rounds=rounds,
        failed_ratio=1 - len(done) / rounds if rounds else None,
        mean_ns=_mean(runs, runs.means_ns),
        deviation_ns=float(done.std(ddof=1)) if len(done) > 1 else None,
        min_ns=float(done[0]) if len(done) else None,
        max_ns=float(done[-1]) if len(done) else None,
        wall_s=_mean(runs, runs.walls_s),
        timed_ratio=_mean(runs, runs.timed_ratios),
        reference=reference,
        dispersion=estimate(dispersion.interval, runs.left_out).map(lambda change: 1 + change)
        if dispersion
        else None,
        dispersion_p=dispersion.p_beyond(0.0, 0.0) if dispersion else None,
        **{f"{name}_ns": _quantile(done, rounds, q) for name, q in QUANTILES.items()},
    )


def _mean(runs: Runs, by_block: Mapping[int, float]) -> Estimate | None:
    return estimate_of_known(by_block.values(), runs.left_out, PER_MILLE)


def _dispersion(runs: Runs, other: Runs) -> Change | None:
    """How the deviation within runs differs from the reference's, block by block; None of fewer than two blocks."""
    own, reference = in_pairs(runs.deviations_ns, other.deviations_ns).T.tolist()
    return relative_change(reference, own, resolution=PER_MILLE.share, paired=True)


def _quantile(done: NDArray[np.float64], rounds: int, q: float) -> float | None:
    """Of all rounds, `done` those that came back, ascending; None of too few, or where it lies among the failed."""
    rank = max(1, int(np.ceil(round(q * rounds, 6))))
    return float(done[rank - 1]) if rounds >= samples_needed(q) and rank <= len(done) else None
