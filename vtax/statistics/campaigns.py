"""How far the means of two campaigns lie apart though nothing changed: a random effect of the campaign.

All repetitions of a campaign share its hour, its boot and its neighbours, so that more of them do not average these
out. A campaign's mean has the variance of this effect and, over the number of repetitions, that of their scatter
(one-way random effects: Searle, Casella and McCulloch, Variance Components, 1992, chapter 3).

Means of earlier campaigns scatter by both, so that their variance is taken for that of another such mean, with
Student's t on campaigns, and nothing is added to it. An assumed effect is only the campaign's: the half widths of its
interval and of the repetitions' add as squares (Zou and Donner, Statistics in Medicine 27, 2008, on limits of a sum).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from vtax.statistics.power import POWER

LEAST_CAMPAIGNS: Final = 6
"""Of fewer campaigns a standard deviation says little: of six its 95% interval is from 0.6 to 2.5 times of it."""
ASSUMED_DEVIATION: Final = 0.10
"""Of a campaign's mean, where nothing is known of it, as a share of the mean."""

_SMALLEST: Final = 1e-12
_HALVINGS: Final = 20

Values = NDArray[np.float64]


@dataclass(frozen=True)
class CampaignScatter:
    """How far the means of two campaigns lie apart though nothing changed, on the scale of their change.

    `variance` is that of the difference of two such means, and `excess` the variance that comes on top since the two
    have fewer repetitions. `campaigns` is from how many the variance was estimated; None where it is assumed, and of
    the campaign's effect alone.
    """

    variance: float
    campaigns: int | None = None
    excess: float = 0.0

    @property
    def is_assumed(self) -> bool:
        """Whether no earlier campaigns are known."""
        return self.campaigns is None

    @property
    def deviation(self) -> float:
        """The standard deviation of one campaign's mean."""
        return math.sqrt((self.variance + self.excess) / 2)

    def reach(self, p_value: float, repetitions: float) -> float:
        """Return how far from the truth an estimate lies with this chance on one side.

        `repetitions` is how far it lies by the scatter of the repetitions alone.
        """
        own = self._quantile(p_value) * math.sqrt(self.variance + self.excess)
        return math.hypot(own, repetitions) if self.is_assumed else max(own, repetitions)

    def chance(self, distance: float, repetitions: Callable[[float], float | None]) -> float:
        """Return the chance on one side of an estimate so far from the truth, the inverse of `reach`.

        `repetitions` returns how far an estimate lies with a chance by their scatter alone; None where that is unknown.
        Beside an estimated variance they do not count: by their scatter alone the chance may be larger.
        """
        if self.campaigns is not None:
            error = math.sqrt(self.variance + self.excess)
            return float(scipy.special.stdtr(self.campaigns - 1, -distance / error)) if error else 0.0
        low, high = math.log(_SMALLEST), math.log(0.5)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            own = repetitions(math.exp(middle))
            is_within = own is None or self.reach(math.exp(middle), own) >= distance
            low, high = (middle, high) if is_within else (low, middle)
        return math.exp(high) if distance > 0 else 0.5

    def detectable(self, p_value: float, repetitions: float) -> float:
        """Return how far the truth has to lie from a bound for 80% of campaigns to exclude it at this p value.

        `repetitions` is that distance by their scatter alone.
        """
        own = self._room(p_value) * math.sqrt(self.variance + self.excess)
        return math.hypot(own, repetitions) if self.is_assumed else max(own, repetitions)

    def times(
        self, room: float, p_value: float, repetitions: Callable[[float], float | None]
    ) -> float | None:
        """Return how many times as many repetitions tell a difference from a bound that is `room` away.

        `repetitions` returns the same by their scatter alone. None where no number does.
        """
        left = room**2 - self._room(p_value) ** 2 * self.variance
        if left <= 0 or room <= 0:
            return None
        if self.is_assumed:
            return repetitions(math.sqrt(left))
        own = repetitions(room)
        return None if own is None else max(own, self._room(p_value) ** 2 * self.excess / left)

    def _quantile(self, p_value: float) -> float:
        if self.campaigns is None:
            return -float(scipy.special.ndtri(p_value))
        return -float(scipy.special.stdtrit(self.campaigns - 1, p_value))

    def _room(self, p_value: float) -> float:
        return self._quantile(p_value) + float(scipy.special.ndtri(POWER))


@dataclass(frozen=True)
class EarlierMeans:
    """The means of earlier campaigns, and what is left of their scatter without the campaigns' effect.

    `mean_variance` is the variance of the means, `repetition_variance` that of repetitions within a campaign, 0 where
    none has two; both are on the scale of the change. A campaign had `repetitions` of them, the harmonic mean.
    """

    campaigns: int
    mean_variance: float
    repetition_variance: float
    repetitions: float

    def scatter(self, *repetitions: int) -> CampaignScatter:
        """Return how far two campaigns with so many repetitions lie apart."""
        fewer = sum(1 / n for n in repetitions) - len(repetitions) / self.repetitions
        return CampaignScatter(
            len(repetitions) * self.mean_variance,
            self.campaigns,
            self.repetition_variance * max(fewer, 0.0),
        )


def earlier_means(campaigns: Sequence[Sequence[float]], *, relative: bool) -> EarlierMeans | None:
    """Return how the means of campaigns scatter, of each of which these are the values; None of fewer than six.

    `relative`: as logarithms or, with a zero among the values, as shares of their mean; else as they are. None too
    where all values of a relative quantity are zero. ValueError for a campaign without a value.
    """
    if not all(map(len, campaigns)):
        raise ValueError("a campaign without a value has no mean")
    if len(campaigns) < LEAST_CAMPAIGNS:
        return None
    scaled = [np.asarray(values, dtype=float) for values in campaigns]
    if relative:
        whole = float(np.mean([values.mean() for values in scaled]))
        if not whole:
            return None
        positive = all(values.all() for values in scaled)
        scaled = [np.log(values) if positive else values / whole for values in scaled]
    freedom = sum(len(values) - 1 for values in scaled)
    within = sum(float(((values - values.mean()) ** 2).sum()) for values in scaled)
    return EarlierMeans(
        campaigns=len(scaled),
        mean_variance=float(np.var([values.mean() for values in scaled], ddof=1)),
        repetition_variance=within / freedom if freedom else 0.0,
        repetitions=len(scaled) / sum(1 / len(values) for values in scaled),
    )


def assumed_scatter(*deviations: float) -> CampaignScatter:
    """Return how far two campaigns are assumed to lie apart whose means have these standard deviations."""
    return CampaignScatter(sum(deviation**2 for deviation in deviations))
