"""Estimates as the documents of `vtax.documents` have them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from vtax.documents import base
from vtax.model.bound import Bound
from vtax.model.estimate import Estimate
from vtax.statistics import Centre

BOUNDS: Mapping[Bound, base.Bound] = {
    Bound.EXACT: "exact",
    Bound.AT_LEAST: "at least",
    Bound.AT_MOST: "at most",
    Bound.WITHHELD: "withheld",
}


CENTRES: Mapping[Centre, Literal["mean", "median"]] = {Centre.MEAN: "mean", Centre.MEDIAN: "median"}


def estimate_document(found: Estimate) -> base.Estimate:
    """Return an estimate of the trials of one campaign."""
    return base.Estimate(
        value=finite(found.value),
        low=finite(found.low),
        high=finite(found.high),
        n=found.n,
        left_out=found.left_out,
        bound=BOUNDS[found.bound],
        centre=CENTRES[found.centre],
        apart=found.apart,
        points=[*found.points],
    )


def compared_document(found: Estimate) -> base.ComparedEstimate:
    """Return an estimate of a comparison of campaigns."""
    return base.ComparedEstimate(
        value=finite(found.value),
        low=finite(found.low),
        high=finite(found.high),
        n=found.n,
        bound=BOUNDS[found.bound],
    )


def finite(value: float | None) -> float | None:
    """Return a number, or None where there is none in JSON: an end that a bound leaves open, a withheld value."""
    return value if value is not None and math.isfinite(value) else None
