"""Whether durations vary more, or less, than on the reference (matthews2009, section 4.1 and Table 1)."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from vtax.statistics.artifacts.finding import Finding, NotEnough
from vtax.statistics.artifacts.series import Samples, Series
from vtax.statistics.interval import Interval
from vtax.statistics.unpaired import compare

UNITS: Final = 5
VALUES: Final = 20


@dataclass(frozen=True)
class Dispersion(Finding):
    """Interquartile ranges are `ratio` times the reference's, with its 95% interval; `n` counts the units of both."""

    ratio: Interval

    @property
    def sentence(self) -> str:
        """How many times the reference's spread."""
        bounds = (
            f" [{self.ratio.low:.3g}, {self.ratio.high:.3g}]"
            if self.ratio.low is not None and self.ratio.high is not None
            else ""
        )
        way = "more" if self.ratio.mean >= 1 else "less"
        return (
            f"Durations vary {way} than on the reference: interquartile ranges are "
            f"{self.ratio.mean:.3g}{bounds} times its own (n = {self.ratio.n}, p = {self.p_value:.1g})."
        )


def look_for_another_spread(series: Series, reference: Series) -> Dispersion | NotEnough:
    """Compare the interquartile ranges of runs, or of stretches of them where there are fewer than five.

    Quartiles leave out what few slow iterations add; those have findings of their own.
    """
    units, others = series.units(UNITS, VALUES), reference.units(UNITS, VALUES)
    if units is None or others is None:
        return NotEnough("another spread", f"{UNITS * VALUES} samples on both sides")
    ranges, usual = _ranges(units), _ranges(others)
    if not any(usual):
        return NotEnough("another spread", "durations that differ by more than the clock's tick")
    compared = compare(ranges, usual)
    return Dispersion(compared.p_value, compared.ratio)


def _ranges(units: Samples) -> list[float]:
    low, high = np.nanquantile(units, [0.25, 0.75], axis=1)
    return [float(each) for each in high - low]
