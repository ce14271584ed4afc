"""The tests that a claim can ask for, a kind a module: each a mapping in the file of claims, and what it takes."""

from typing import Annotated

from pydantic import Field

from vtax.views.claims.checks.artifact import Artifact
from vtax.views.claims.checks.bound import Bound
from vtax.views.claims.checks.check import Asked, Check, Comparison
from vtax.views.claims.checks.difference import Difference
from vtax.views.claims.checks.ratio import Ratio
from vtax.views.claims.checks.share import Share
from vtax.views.claims.checks.trend import Trend

__all__ = [
    "AnyCheck",
    "Artifact",
    "Asked",
    "Bound",
    "Check",
    "Comparison",
    "Difference",
    "Ratio",
    "Share",
    "Trend",
]

AnyCheck = Annotated[Ratio | Difference | Bound | Trend | Share | Artifact, Field(discriminator="kind")]
