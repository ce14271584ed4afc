"""Every key of a scenario file: its kind, bounds and meaning. docs/scenario.md is checked against this."""

from typing import Annotated, Literal

from pydantic import Field

from vtax.keys.fields import PLATFORM_KEY, Keys, Named, PlainScalar, key, slug, written
from vtax.keys.testbed import TestbedSettings
from vtax.registry.keys import Workload

ScenarioName = Annotated[
    str, slug(r"[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)*", "schlosser2011/dedicated")
]
PlatformKey = Annotated[str, slug(PLATFORM_KEY, "memory_bytes")]


class Source(Keys):
    """The published experiment that a scenario repeats."""

    paper: Annotated[str, key("short name of the paper", "text", min_length=1)]
    section: Annotated[str, key("its section", 'text, in quotes: "3.3"', min_length=1)]


class Precision(Keys):
    """When a cell is measured often enough: its 95% interval, which holds at any such moment, is narrow."""

    relative_width: Annotated[
        float,
        key(
            "width of the interval that is enough, as a share of its estimate",
            "more than 0, at most 1",
            gt=0,
            le=1,
        ),
    ]
    of: Literal["throughput", "maximum"] = key(
        "whose interval: every cell's throughput, or the largest over the factor `intended_mbps`",
        "throughput, maximum",
        default="throughput",
    )
    least: int = key("repetitions that there are at least", "10 to 1000", default=10, ge=10, le=1000)
    budget_s: float | None = key(
        "wall time of all trials together after which none begins", "more than 0", default=None, gt=0
    )


class Ab(Keys):
    """When two levels of a factor, measured by turns, are told apart: the rules on each cell are decided.

    With `fixed` the rules are judged at the end alone.
    """

    by: Annotated[
        str, key("factor of two levels; the first one is A, the reference", "a factor's name", min_length=1)
    ]
    fail_on: Annotated[
        str, key("rules, as of `vtax compare --fail-on`", "rules with commas between them", min_length=1)
    ]
    budget_s: float | None = key(
        "time in which the last quad has to end, calibration included",
        "more than 0",
        default=None,
        gt=0,
    )
    fixed: bool = key(
        "measure all `repetitions`, and judge them once, by Student's intervals", "true, false", default=False
    )


GoalName = Annotated[str, slug(r"[A-Za-z][A-Za-z0-9_.-]*", "NDR")]
LossRatio = Annotated[float, Field(ge=0, lt=1)]


class Search(Keys):
    """Loads by their loss (RFC 9971, MLRsearch): each goal's bounds; final trials last `workload.duration_s`."""

    goals: dict[GoalName, LossRatio] = key(
        "goal loss ratios by name",
        "names and ratios, 0 to less than 1",
        default_factory=lambda: {"NDR": 0.0, "PDR": 0.005},
        min_length=1,
        max_length=8,
    )
    relative_width: float = key(
        "goal width: upper less lower bound, as a share of the upper one",
        "0.001 to 0.5",
        default=0.01,
        ge=0.001,
        le=0.5,
    )
    exceed_ratio: float = key(
        "goal exceed ratio: share of trials that may lose more", "0 to 0.9", default=0.5, ge=0, le=0.9
    )
    duration_sum_s: float = key(
        "goal duration sum: trial time that makes a load a bound",
        "0.1 to 36000",
        default=21.0,
        ge=0.1,
        le=36000,
    )
    min_mbps: float = key(
        "least load of each stream", "more than 0, at most 1000000", default=1.0, gt=0, le=1_000_000
    )
    max_mbps: Annotated[float | None, Named("link", "Mbit/s"), written("link")] = key(
        "largest load of each stream; `link` is `testbed.link_mbps`",
        "more than 0, at most 1000000, or link",
        default=None,
        gt=0,
        le=1_000_000,
    )
    most: int = key("trials after which a search is given up", "10 to 10000", default=300, ge=10, le=10000)


class ScenarioFile(Keys):
    """A scenario file as it is written: base values, the factors over them, what to repeat and to draw."""

    name: Annotated[ScenarioName, key("the scenario's name", "lower-case words, `/` between them")]
    title: Annotated[str, key("one line for tables and reports", "text", min_length=1)]
    question: Annotated[str, key("what is asked, in one sentence", "text", min_length=1)]
    source: Source | None = key("the published experiment, if it repeats one", "paper, section", default=None)
    workload: Annotated[Workload, key("the traffic of a trial", "the keys below", discriminator="kind")]
    testbed: TestbedSettings = key(
        "the links of the testbed", "the keys below", default_factory=TestbedSettings
    )
    platform: dict[PlatformKey, PlainScalar] = key(
        "keys of the platforms, changed for every preset of the scenario",
        "keys of the platform kind",
        default_factory=dict,
    )
    factors: Annotated[
        dict[str, list[PlainScalar]],
        key(
            "lists of values; every combination is a cell of the grid",
            "factor names and lists; `platform` always",
        ),
    ]
    repetitions: Annotated[int, key("trials of every cell", "1 to 1000", ge=1, le=1000)]
    precision: Precision | None = key(
        "repeat each cell, up to `repetitions`, until its interval is narrow enough",
        "the keys below",
        default=None,
    )
    search: Search | None = key(
        "search loads by their loss, `repetitions` times in each cell", "the keys below", default=None
    )
    ab: Ab | None = key(
        "measure two levels of a factor by turns, up to `repetitions`, until rules are decided or to the end",
        "the keys below",
        default=None,
    )
    figures: list[str] = key("figures of the report", "names of figures", default_factory=list)
