"""How evenly guests share link and CPU: Jain's index (anhalt2009, formula 2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from vtax.model.estimate import Estimate
from vtax.model.levels import Setting
from vtax.statistics import PER_MILLE, jain_index
from vtax.views.guest_cpu import percent_of_guests
from vtax.views.stream_cells import BulkTrial, Metric, StreamCell


@dataclass(frozen=True)
class Fairness:
    """Jain's index over the guests, 1 / N to 1, of goodput and of CPU time: the mean of the repetitions' indices."""

    key: str
    platform: str
    setting: Setting
    guests: int
    goodput: Estimate | None
    cpu: Estimate | None


def fairness(cells: Iterable[StreamCell]) -> list[Fairness]:
    """A row a cell of several guests with usable trials, in the order of `cells`."""
    return [
        Fairness(
            key=cell.key,
            platform=cell.platform,
            setting=cell.setting,
            guests=cell.guests,
            goodput=_index(cell, goodput_index),
            cpu=_index(cell, _of_cpu),
        )
        for cell in cells
        if cell.guests > 1 and cell.trials
    ]


def goodput_index(trial: BulkTrial) -> float | None:
    """Jain's index of the guests' goodput in a trial."""
    return jain_index(list(trial.goodput_mbps.values()))


def _of_cpu(trial: BulkTrial) -> float | None:
    percents = percent_of_guests(trial)
    return jain_index(percents) if percents else None


def _index(cell: StreamCell, metric: Metric) -> Estimate | None:
    """The mean index; its interval does not know the index's bounds, and is cut at them."""
    found = cell.estimate(metric, PER_MILLE)
    if found is None or found.low is None or found.high is None:
        return found
    return replace(found, low=max(found.low, 1 / cell.guests), high=min(found.high, 1.0))
