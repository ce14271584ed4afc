"""Cells as evidence of a loss: what each varies in, its usable trials, and what is said of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vtax.model.dimensions import LOAD
from vtax.model.levels import Dimension, Levels
from vtax.model.reading import RecordedCell, level_of, recorded_cells
from vtax.registry.catalogues import CATALOGUES
from vtax.results import Result
from vtax.results.schema import own_columns
from vtax.statistics import RepeatedInterval, repeated_mean
from vtax.views.diagnosis.trials import Metric, Trials, TrialTable
from vtax.views.provenance import Provenance

Attempts = tuple[NDArray[np.int64], NDArray[np.int32]]
"""Trials and their blocks."""


class _Said(Struct, frozen=True):
    """So many trials of a cell that say the same."""

    cell: str
    uut_context: str
    kind: str
    words: str
    trials: int


_ATTEMPTS = """
SELECT trial_id, cell, block, verdict <> 'invalid' AS usable, coalesce(uut_context, 'unknown') AS uut_context
FROM untraced ORDER BY trial_id
"""

# Words in the order in which trials say them first; a reason's kind stands before the trial's own figures.
_SAID = """
WITH told AS (SELECT DISTINCT trial_id FROM flows WHERE role = 'victim'), said AS (
    SELECT trial_id, cell, coalesce(uut_context, 'unknown') AS uut_context, marks, verdict = 'invalid' AS invalid,
           verdict <> 'invalid' AND told.trial_id IS NOT NULL AS usable, split_part(reasons[1], ': ', 1) AS reason
    FROM untraced LEFT JOIN told USING (trial_id)
), words AS (
    SELECT trial_id, cell, uut_context, 'mark' AS kind, unnest(marks) AS words FROM said WHERE usable
    UNION ALL
    SELECT trial_id, cell, uut_context, 'remark', reason FROM said WHERE usable AND reason IS NOT NULL
    UNION ALL
    SELECT trial_id, cell, '', 'fault', coalesce(reason, 'no reason is given') FROM said WHERE invalid
)
SELECT cell, uut_context, kind, words, count(*) AS trials FROM words GROUP BY ALL ORDER BY min(trial_id)
"""


@dataclass(frozen=True)
class CellEvidence:
    """A cell of the grid in one context, with its usable trials. `levels` are its factors' but the platform.

    `marks` and `remarks` count its usable trials by mark and by kind of reason, `faults` its invalid ones by reason.
    """

    key: str
    platform: str
    emulated: bool
    uut_context: str
    levels: Mapping[str, str]
    recorded: int
    invalid: int
    trials: Trials
    marks: Counter[str]
    remarks: Counter[str]
    faults: Counter[str]
    adaptive: bool

    @property
    def mean(self) -> RepeatedInterval:
        """How intervals of its means are taken, whatever stands apart: they are of losses."""
        return repeated_mean(adaptive=self.adaptive)

    def by_block(self, metric: Metric) -> dict[int, float]:
        """{block: value}, ready for pairing: the mean over a block's trials, without those that have none."""
        blocks, means = self.means(metric)
        return dict(zip(blocks.tolist(), means.tolist(), strict=True))

    def means(self, metric: Metric) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The same as columns, the blocks ascending."""
        values = metric(self.trials)
        known = ~np.isnan(values)
        blocks, values = self.trials.block[known], values[known]
        if (np.diff(blocks) > 0).all():  # a trial each, as mostly
            return blocks, values
        blocks, place = np.unique(blocks, return_inverse=True)
        return blocks, np.bincount(place, values) / np.bincount(place)


def read_evidence(result: Result, provenance: Provenance) -> list[CellEvidence]:
    """Every cell with a recorded trial, once for each context of usable ones, in the order platform, levels."""
    table, said = TrialTable(result), _said(result)
    attempts = _attempts(result, table.ids)
    dimension = CATALOGUES[provenance.kind].reading.dimension
    cells = []
    names = ["guests", *(column.name for column in own_columns(result.campaign) if column.is_level)]
    for cell in recorded_cells(result, Levels, also=names):
        for context, (trial_ids, blocks) in attempts[cell.key].items():
            cells.append(
                CellEvidence(
                    key=cell.key,
                    platform=cell.platform,
                    emulated=provenance.platform(cell.platform).emulated,
                    uut_context=context,
                    levels=_levels(cell, dimension),
                    recorded=cell.recorded,
                    invalid=cell.invalid,
                    trials=table.of(trial_ids, blocks),
                    marks=said.get((cell.key, context, "mark"), Counter()),
                    remarks=said.get((cell.key, context, "remark"), Counter()),
                    faults=said.get((cell.key, "", "fault"), Counter()),
                    adaptive=provenance.adaptive,
                )
            )
    rank = {platform.name: position for position, platform in enumerate(provenance.platforms)}
    return sorted(cells, key=lambda cell: (rank[cell.platform], _order(cell.levels), cell.uut_context))


def _attempts(result: Result, told: NDArray[np.int64]) -> dict[str, dict[str, Attempts]]:
    """Each cell's usable trials that tell something, by context; none of its first one's where it has none."""
    rows = result.columns(_ATTEMPTS)
    places = rows.group_by(["cell", "uut_context"], use_threads=False).aggregate([]).to_pylist()
    cells, contexts = (rows[name].combine_chunks().dictionary_encode() for name in ("cell", "uut_context"))
    place = cells.indices.to_numpy().astype(np.int64) * len(contexts.dictionary) + contexts.indices.to_numpy()
    number = {value: at for at, value in enumerate(cells.dictionary.to_pylist())}
    number_of_context = {value: at for at, value in enumerate(contexts.dictionary.to_pylist())}
    trials, blocks = rows["trial_id"].to_numpy(), rows["block"].to_numpy()
    usable = rows["usable"].combine_chunks().to_numpy(zero_copy_only=False) & np.isin(trials, told)
    chosen = np.flatnonzero(usable)
    chosen = chosen[place[chosen].argsort(kind="stable")]
    placed = place[chosen]
    found: dict[str, dict[str, Attempts]] = {}
    unusable: dict[str, str] = {}
    for each in places:
        cell, context = each["cell"], each["uut_context"]
        unusable.setdefault(cell, context)
        at = number[cell] * len(contexts.dictionary) + number_of_context[context]
        begin, end = np.searchsorted(placed, [at, at + 1])
        if begin < end:
            own = chosen[begin:end]
            found.setdefault(cell, {})[context] = trials[own], blocks[own]
    for cell, context in unusable.items():
        found.setdefault(cell, {context: (trials[:0], blocks[:0])})
    return found


def _said(result: Result) -> dict[tuple[str, str, str], Counter[str]]:
    """Marks, remarks and faults of trials by cell, context and kind, and how many trials say each."""
    found: dict[tuple[str, str, str], Counter[str]] = {}
    for row in result.read(_SAID, _Said):
        key = row.cell, row.uut_context, row.kind
        found.setdefault(key, Counter())[row.words] = row.trials
    return found


def _levels(cell: RecordedCell, dimension: Dimension | None) -> dict[str, str]:
    """Those that a cell has, as text."""
    load = {LOAD.column: LOAD.label(level_of(cell, LOAD))} if dimension is LOAD else {}
    known = {name: str(level) for name, level in cell.also.items() if level is not None}
    return {**known, **load, **dict(cell.setting.further)}


def _order(levels: Mapping[str, str]) -> list[tuple[float, str]]:
    """Sorts numbers upwards, and words after them."""
    return [
        (float(level) if level.replace(".", "", 1).isdecimal() else inf, level) for level in levels.values()
    ]
