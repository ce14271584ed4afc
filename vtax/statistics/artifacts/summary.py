"""What Table 1 of matthews2009 says of a platform: mean, deviation, least and greatest, and percentiles."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from vtax.statistics.artifacts.series import Samples, Series
from vtax.statistics.distributions import samples_needed
from vtax.statistics.interval import Interval, mean_interval

PERCENTILES: Final = (1.0, 10.0, 25.0, 50.0, 75.0, 90.0, 99.0, 99.9)


@dataclass(frozen=True)
class Summary:
    """Durations of one platform in ns; those that failed are counted, and are in nothing else.

    `mean_ns` is the mean of the runs' means with its interval over runs. `percentiles_ns` are of all samples, by
    percent; those are left out that have too few samples beyond them.
    """

    runs: int
    samples: int
    failed: int
    mean_ns: Interval
    deviation_ns: float | None
    min_ns: float
    max_ns: float
    percentiles_ns: dict[float, float]


def summarise(samples: Samples) -> Summary | None:
    """Summarise durations in ns of shape (runs, iterations), NaN where one failed; None where all did.

    ValueError as Series.of.
    """
    series = Series.of(samples)
    values = series.values
    if not len(values):
        return None
    shown = [each for each in PERCENTILES if len(values) >= _needed(each / 100)]
    return Summary(
        runs=series.runs,
        samples=len(values),
        failed=series.failed,
        mean_ns=mean_interval(np.nanmean(series.ns, axis=1).tolist()),
        deviation_ns=float(values.std(ddof=1)) if len(values) > 1 else None,
        min_ns=float(values[0]),
        max_ns=float(values[-1]),
        percentiles_ns=dict(zip(shown, np.percentile(values, shown).tolist(), strict=True)),
    )


def _needed(share: float) -> int:
    """Samples that a quantile is shown with: ten on its shorter side."""
    return samples_needed(max(share, 1 - share))
