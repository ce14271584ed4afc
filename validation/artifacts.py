"""Artifact detection: false alarms in durations without an artifact, power where one of known strength is planted."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from validation import planted
from validation.section import Check, Section
from vtax.statistics import Interval, proportion_interval
from vtax.statistics.artifacts import (
    Dispersion,
    Drift,
    Finding,
    Modes,
    Moving,
    NotEnough,
    Periodic,
    Shape,
    WarmUp,
    detect,
)
from vtax.statistics.artifacts.detect import FALSE_ALARMS

SHAPE: Final = (20, 400)
QUIET_SERIES, PLANTED_SERIES = 100, 20
PAGE: Final = Path(__file__).resolve().parent.parent / "docs/artifacts.md"
BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"

TEXT = f"""
All detectors look at durations of {SHAPE[0]} runs of {SHAPE[1]} iterations beside a reference of the same size:
{QUIET_SERIES} of each kind of noise, in which nothing is to be found, and {PLANTED_SERIES} of each strength of an
artifact that was planted in lognormal noise. [artifacts.md](artifacts.md) has the power of each.
"""


@dataclass(frozen=True)
class Case:
    """An artifact to plant at several `strengths` (deviations of the noise), and whether a finding tells it `right`."""

    what: str
    plant: planted.Plant
    strengths: tuple[float, ...]
    right: Callable[[Finding], bool]


CASES: Final = (
    Case(
        "lines, every 33.3 iterations",
        planted.lines,
        (0.5, 1, 2, 4),
        lambda each: (
            isinstance(each, Periodic)
            and each.first_iteration is not None
            and abs(each.period_iterations - 33.3) < 0.1
        ),
    ),
    Case(
        "periods of each run's own, every 40 iterations",
        planted.own_periods,
        (2, 3, 4, 8),
        lambda each: (
            isinstance(each, Periodic) and each.first_iteration is None and each.period_iterations == 40
        ),
    ),
    Case(
        "a diagonal, one iteration a run",
        planted.diagonals,
        (2, 3, 4, 8),
        lambda each: isinstance(each, Moving) and each.slope_iterations in {37, 37 - SHAPE[1]},
    ),
    Case(
        "warm-up of 10 iterations", planted.warm_up, (0.25, 0.5, 1, 2), lambda each: isinstance(each, WarmUp)
    ),
    Case(
        "drift along runs",
        planted.drift_in_runs,
        (0.1, 0.2, 0.4, 0.8),
        lambda each: isinstance(each, Drift) and each.along == "iterations",
    ),
    Case(
        "drift from run to run",
        planted.drift_over_runs,
        (0.1, 0.2, 0.4, 0.8),
        lambda each: isinstance(each, Drift) and each.along == "runs",
    ),
    Case(
        "two modes, three to seven",
        planted.modes,
        (2, 3, 4, 6),
        lambda each: isinstance(each, Modes) and len(each.modes_ns) == 2,
    ),
    Case(
        "another shape: exponential delays",
        planted.shape,
        (0.25, 0.5, 1, 2),
        lambda each: isinstance(each, Shape),
    ),
    Case(
        "another spread: wider by a share",
        planted.spread,
        (0.05, 0.1, 0.2, 0.4),
        lambda each: isinstance(each, Dispersion),
    ),
)


def run(directory: Path) -> Section:
    """Look at all series; the tables of docs/artifacts.md are written anew, nothing to `directory`."""
    with ProcessPoolExecutor() as processes:
        alarms = {
            name: list(processes.map(partial(false_alarms, name), range(QUIET_SERIES), chunksize=10))
            for name in planted.NOISES
        }
        found = {
            (case.what, strength): list(
                processes.map(partial(is_told, number, strength), range(PLANTED_SERIES), chunksize=5)
            )
            for number, case in enumerate(CASES)
            for strength in case.strengths
        }
    page = PAGE.read_text()
    head, tail = page[: page.index(BEGIN) + len(BEGIN)], page[page.index(END) :]
    PAGE.write_text(f"{head}{_alarm_table(alarms)}\n{_power_table(found)}{tail}")
    every = [names for each in alarms.values() for names in each]
    checks = [_alarm_check("all noise", every), *(_alarm_check(name, each) for name, each in alarms.items())]
    checks += [_power_check(case, found[case.what, case.strengths[-1]]) for case in CASES]
    return Section("Timing artifacts", TEXT, tuple(checks))


def false_alarms(noise: str, seed: int) -> list[str]:
    """Names of what is found in one series of a noise where there is nothing; two kinds of iterations are modes."""
    rng = np.random.default_rng([seed, list(planted.NOISES).index(noise)])
    make = planted.NOISES[noise]
    findings = detect(make(rng, SHAPE), make(rng, SHAPE))
    expected = (NotEnough, Modes) if make is planted.two_kinds else (NotEnough,)
    return [type(each).__name__ for each in findings if not isinstance(each, expected)]


def is_told(case: int, strength: float, seed: int) -> bool:
    """Whether a planted artifact is found, and told right."""
    rng = np.random.default_rng([seed, case])
    reference, bare = planted.lognormal(rng, SHAPE), planted.lognormal(rng, SHAPE)
    findings = detect(CASES[case].plant(rng, bare, strength), reference)
    return any(CASES[case].right(each) for each in findings if isinstance(each, Finding))


def _alarm_table(alarms: dict[str, list[list[str]]]) -> str:
    rows = "".join(
        f"| {name} | {_percent(proportion_interval(sum(map(bool, each)), len(each)))} | {len(each)} | "
        f"{', '.join(sorted({alarm for names in each for alarm in names})) or 'none'} |\n"
        for name, each in alarms.items()
    )
    return f"| noise | series with a false alarm | n | which |\n|---|---|---|---|\n{rows}"


def _power_table(found: dict[tuple[str, float], list[bool]]) -> str:
    rows = "".join(
        f"| {case.what} | "
        + " | ".join(
            f"{strength:g}: {100 * np.mean(found[case.what, strength]):.0f}%" for strength in case.strengths
        )
        + " |\n"
        for case in CASES
    )
    head = "| planted | strength: found and told right | | | |\n|---|---|---|---|---|\n"
    return f"{head}{rows}"


def _alarm_check(name: str, alarms: list[list[str]]) -> Check:
    share = proportion_interval(sum(map(bool, alarms)), len(alarms))
    holds = share.low is not None and share.low <= FALSE_ALARMS
    return Check(f"false alarms, {name}", f"{_percent(share)}, n = {len(alarms):,}", "at most 1%", holds)


def _power_check(case: Case, found: list[bool]) -> Check:
    share = proportion_interval(sum(found), len(found))
    what = f"{case.what}, of strength {case.strengths[-1]:g}, found and told right"
    return Check(what, f"{_percent(share)}, n = {len(found)}", "90% or more", share.mean >= 0.9)


def _percent(share: Interval) -> str:
    if share.low is None or share.high is None:
        return f"{share.mean:.1%}"
    return f"{share.mean:.1%} [{share.low:.1%}, {share.high:.1%}]"
