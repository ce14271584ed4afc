"""What every document is made of: declared fields, counts and shares within bounds, estimates with an interval."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue


class Part(BaseModel):
    """An object of a document: the declared fields and no other, and no number that JSON does not have."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        defer_build=True,
        json_schema_serialization_defaults_required=True,
    )


class Document(Part):
    """What a command prints as JSON; each type declares which version it is at."""

    format_version: int
    """Version of the document's form."""

    def as_json(self) -> dict[str, JsonValue]:
        """Return the document as JSON values, its fields in the order of their declaration."""
        return self.model_dump(mode="json")


Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Nanoseconds = Annotated[float, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0)]
Moment = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Bound = Literal["exact", "at least", "at most", "withheld"]


class ComparedEstimate(Part):
    """A mean over repetitions, or a change of one, with its 95% interval. Its unit is named beside it."""

    value: float | None
    """The mean or the change; null where it is withheld."""
    low: float | None
    """Lower end of the interval; null where none can be formed, and where the value is "at most"."""
    high: float | None
    """Upper end of the interval; null where none can be formed, and where the value is "at least"."""
    n: Count
    """Values behind it."""
    bound: Bound
    """Reading of the value: exact, a bound of what the platform can do, or withheld (docs/verdicts.md)."""


class Estimate(Part):
    """A mean or median over repetitions, or a ratio or difference of such values, with its interval.

    The interval is of 95% unless the document states another confidence. The unit is named beside the estimate.
    """

    value: float | None
    """The mean, median, ratio or difference; null where it is withheld."""
    low: float | None
    """Lower end of the interval; null where none can be formed, and where the value is "at most"."""
    high: float | None
    """Upper end of the interval; null where none can be formed, and where the value is "at least"."""
    n: Count
    """Repetitions, or pairs of repetitions, behind it."""
    left_out: Share
    """Share of the recorded trials that were invalid and so left out, 0 to 1."""
    bound: Bound
    """Reading of the value: exact, a bound of what the platform can do, or withheld (docs/verdicts.md)."""
    centre: Literal["mean", "median"]
    """Mean, or median where some of six repetitions or more stand apart from the others (docs/verdicts.md)."""
    apart: Count
    """Repetitions that stand apart from the others."""
    points: list[float]
    """All repetitions, ascending, where some stand apart and they are fewer than six: read them for the interval."""
