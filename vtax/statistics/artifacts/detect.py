"""All detectors, and which of their findings hold when so many look."""

from collections.abc import Callable, Sequence
from typing import Final

from vtax.statistics.artifacts.dispersion import look_for_another_spread
from vtax.statistics.artifacts.drift import look_for_drift_in_runs, look_for_drift_over_runs
from vtax.statistics.artifacts.finding import Finding, NotEnough
from vtax.statistics.artifacts.modes import look_for_modes
from vtax.statistics.artifacts.moving import Moving, look_for_moves
from vtax.statistics.artifacts.periodic import Periodic, look_for_lines, look_for_periods
from vtax.statistics.artifacts.series import Samples, Series
from vtax.statistics.artifacts.shape import look_for_another_shape
from vtax.statistics.artifacts.warmup import look_for_warm_up

FALSE_ALARMS: Final = 0.01
"""At most this share of series without artifact has any finding."""

DETECTORS: Final[tuple[Callable[[Series], Finding | NotEnough], ...]] = (
    look_for_lines,
    look_for_periods,
    look_for_moves,
    look_for_warm_up,
    look_for_drift_in_runs,
    look_for_drift_over_runs,
    look_for_modes,
)
COMPARISONS: Final[tuple[Callable[[Series, Series], Finding | NotEnough], ...]] = (
    look_for_another_shape,
    look_for_another_spread,
)


def detect(
    samples: Samples, reference: Samples | None = None, false_alarms: float = FALSE_ALARMS
) -> list[Finding | NotEnough]:
    """Return the artifacts of `samples`, durations in ns of shape (runs, iterations), NaN where an iteration failed.

    With a `reference`, such as those of the bare machine, also how they differ from it but in place. Behind the
    findings stand the detectors that had not enough samples. The findings hold together: with the probability
    `false_alarms` at most any is of an artifact that is not there (Holm, Scandinavian Journal of Statistics 6, 1979).
    ValueError unless samples are of that shape and finite or NaN.
    """
    series = Series.of(samples)
    answers = [look(series) for look in DETECTORS]
    if reference is not None:
        bare = Series.of(reference)
        answers += [look(series, bare) for look in COMPARISONS]
    looked = [answer for answer in answers if isinstance(answer, Finding)]
    held = [
        finding
        for finding, holds in zip(
            looked, holding([each.p_value for each in looked], false_alarms), strict=True
        )
        if holds
    ]
    return [*_told_once(held), *(answer for answer in answers if isinstance(answer, NotEnough))]


def holding(p_values: Sequence[float], false_alarms: float) -> list[bool]:
    """Return which of several tests hold where any false one among them is to come at most so often (Holm 1979)."""
    holds = [False] * len(p_values)
    for place, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[index] > false_alarms / (len(p_values) - place):
            break
        holds[index] = True
    return holds


def _told_once(findings: list[Finding]) -> list[Finding]:
    """Without periods that begin anywhere in a run, where it is known how they move."""
    moves = any(isinstance(finding, Moving) for finding in findings)
    return [
        finding
        for finding in findings
        if not (moves and isinstance(finding, Periodic) and finding.first_iteration is None)
    ]
