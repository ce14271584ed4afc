"""What every test of a claim has: which cells it is about, and where what it takes of them has to lie."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from vtax.keys.fields import Keys, PlainScalar, key
from vtax.model import numbers
from vtax.model.estimate import Estimate
from vtax.model.numbers import Format
from vtax.scenario.grid import text
from vtax.views.claims.readings import QUANTITIES
from vtax.views.claims.sample import Sample
from vtax.views.levels import Levels, matches, words

Level = PlainScalar
Options = Annotated[list[PlainScalar], Field(min_length=1)]


@dataclass(frozen=True)
class Comparison:
    """One number that a test takes: `where`, of what varies, and `take` for its estimate at a confidence."""

    where: str
    take: Callable[[float], Estimate | None]


@dataclass(frozen=True)
class Asked:
    """What a test takes of a platform, and why it cannot take all that it would, a phrase each."""

    comparisons: list[Comparison]
    missing: list[str]


class Check(Keys):
    """A test. It takes one or more numbers of a platform, all of which have to lie where `above` and `below` say.

    `in_unit` tells that they are in the quantity's own unit; else they are ratios.
    """

    in_unit: ClassVar[bool] = False

    at: dict[str, Level | Options] = key(
        "levels of the cells it is about, of each factor one or several; of all others every level",
        "names of factors with a level or a list",
        default_factory=dict,
    )
    above: float | None = key("each number lies above this", "a number", default=None)
    below: float | None = key("each number lies below this", "a number", default=None)

    @model_validator(mode="after")
    def _is_a_region(self) -> Check:
        if self.above is None and self.below is None:
            raise ValueError("has no limit for its number; give above, below or both")
        if self.above is not None and self.below is not None and self.above >= self.below:
            raise ValueError(f"nothing is above {self.above:g} and below {self.below:g}")
        return self

    @property
    def quantity(self) -> str:
        """The name of the quantity whose samples it takes."""
        raise NotImplementedError

    @property
    def factors(self) -> list[str]:
        """Every factor that it names."""
        return list(self.at)

    @property
    def subject(self) -> str | None:
        """The one platform that it is about, where it names one."""
        return None

    @property
    def takes(self) -> str:
        """The number that it takes, in words."""
        raise NotImplementedError

    @property
    def unit(self) -> str:
        """That of its number; empty for a ratio."""
        return QUANTITIES[self.quantity].unit if self.in_unit else ""

    @property
    def form(self) -> Format:
        """How its number is shown."""
        return QUANTITIES[self.quantity].form if self.in_unit else numbers.ratio

    @property
    def expected(self) -> str:
        """Where its number has to lie, in words."""
        low, high = (None if bound is None else self.form(bound) for bound in (self.above, self.below))
        unit = f" {self.unit}" if self.unit else ""
        if low is not None and high is not None:
            return f"{low} to {high}{unit}"
        return f"above {low}{unit}" if high is None else f"below {high}{unit}"

    def ask(self, own: Sequence[Sample], samples: Sequence[Sample]) -> Asked:
        """What it takes of a platform's own samples and, to compare with, those of all."""
        raise NotImplementedError

    def chosen(self, own: Iterable[Sample], further: Mapping[str, Level] | None = None) -> list[Sample]:
        """The samples that it is about; `further` levels have to be theirs as well."""
        fixed = {name: [text(level)] for name, level in (further or {}).items()}
        return [sample for sample in own if matches(sample.levels, {**self._options, **fixed})]

    def missing(self, chosen: Sequence[Sample]) -> list[str]:
        """The levels it is about that none of the chosen samples has; none where there is no sample at all."""
        if not chosen:
            return []
        return [
            unmeasured(words({name: option}))
            for name, options in self._options.items()
            for option in options
            if not any(sample.levels.get(name) == option for sample in chosen)
        ]

    @property
    def about(self) -> str:
        """The cells that it is about, in words; empty for all."""
        return " ".join(f"{name}={','.join(options)}" for name, options in self._options.items())

    @property
    def _options(self) -> dict[str, list[str]]:
        return {
            name: [text(level) for level in (levels if isinstance(levels, list) else [levels])]
            for name, levels in self.at.items()
        }


def levels_of(wanted: Mapping[str, Level]) -> Levels:
    """Levels as text."""
    return {name: text(level) for name, level in wanted.items()}


def place(sample: Sample, chosen: Sequence[Sample], without: Iterable[str] = ()) -> str:
    """Which of the chosen samples it is: its levels of what they vary in."""
    left = {"platform", *without}
    varied = [
        name
        for name in sample.levels
        if name not in left and len({each.levels.get(name) for each in chosen}) > 1
    ]
    return words({name: sample.levels[name] for name in varied})


def comparable(
    sample: Sample, samples: Iterable[Sample], other: Mapping[str, str], where: str
) -> Sample | str:
    """The sample that differs from this one in `other` levels alone, or in words why there is none to compare with."""
    wanted = {**sample.levels, **other}
    found = next((each for each in samples if each.levels == wanted), None)
    if found is None:
        return unmeasured(words(other), where)
    if found.emulated is not sample.emulated:
        return "an emulated CPU is compared only with emulated ones"
    return found


def unmeasured(what: str, where: str = "") -> str:
    """That something was not measured, among what varies."""
    return f"{' at '.join(part for part in (what, where) if part)} was not measured"
