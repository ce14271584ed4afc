"""How well gates see a slower build: `vtax ab` beside Firecracker's rule, on the same trials."""

import dataclasses
from collections.abc import Sequence
from statistics import median
from typing import Final

import numpy as np

from validation.long.quads import EFFECTS, Quad
from validation.long.rules import (
    NOISE,
    RESAMPLES,
    SIGNIFICANCE,
    Permuted,
    bound_of_alarms,
    by_turns,
    fixed,
    most_alarms,
)
from validation.section import Check, Section

LONGEST: Final = 12
"""Quads of a stretch, after which a gate must have decided."""
SWAPS: Final = 1_000
"""Stretches without any effect whose levels change names at random."""
BEHIND: Final = 10.0
"""Points by which the detection of an effect may be less than that of the other rule."""
QUICKER_AT: Final = (8, 12)
QUICKER: Final = f", in fewer than {LONGEST} quads"

TEXT = f"""
Floods of 64-byte frames through a container. Where frames leave it a BPF program takes a known time for each: A has
some work, and B that and as much more as makes it so many percent slower. Quads of all effects are measured by turns
in rounds, each through a container of its own. A stretch of {LONGEST} quads of one effect in a row is a campaign; every
quad begins one, and after the last the first one follows.

The question is whether B is slower at all. *vtax ab* looks after each quad and stops when it is decided; *fixed* is
`vtax ab --fixed {LONGEST}`. *Firecracker* is the rule of its `tools/ab_test.py` (August 2026), written anew: a
permutation test of all trials of B against all of A with {RESAMPLES:,} resamples, slower where p < {SIGNIFICANCE:g} and
the mean is more than {NOISE:.0%} less. It has the trials in vtax's order, which is better than its own, all of A before
all of B. *At equal false alarms* is the same test without the {NOISE:.0%}, at the p value with which it calls as many
of {SWAPS:,} stretches without an effect slower as *vtax ab* does. In these the levels of each quad change names at
random.
"""


@dataclasses.dataclass(frozen=True)
class Detected:
    """How many stretches of an effect each rule calls slower, in percent, and the median of quads that it takes."""

    by_turns: float
    quads: float
    fixed: float
    published: float
    calibrated: float


def section(quads: Sequence[Quad]) -> Section:
    """Hold the rules against each other."""
    rng = np.random.default_rng(35)
    by_effect = {effect: [quad for quad in quads if quad.effect_percent == effect] for effect in EFFECTS}
    significance, alarms = calibrated(by_effect[0], rng)
    checks = list(alarms)
    for effect in EFFECTS[1:]:
        found = detected(by_effect[effect], significance, rng)
        planted = median(quad.planted_percent for quad in by_effect[effect])
        least = max(0.0, found.calibrated - BEHIND, found.published - BEHIND)
        is_quicker = effect not in QUICKER_AT or found.quads < LONGEST
        checks.append(
            Check(
                f"{effect}% slower ({planted:.1f}% by the work's clock, {len(by_effect[effect])} quads): detected",
                f"vtax ab {found.by_turns:.0f}%, after {found.quads:g} quads in the median; fixed {found.fixed:.0f}%; "
                f"Firecracker {found.published:.0f}%, at equal false alarms {found.calibrated:.0f}%, "
                f"after {LONGEST} quads",
                f"vtax ab {least:.0f}% or more{QUICKER if effect in QUICKER_AT else ''}",
                found.by_turns >= least and is_quicker,
            )
        )
    return Section("A gate and a slower build", TEXT, tuple(checks))


def calibrated(quads: Sequence[Quad], rng: np.random.Generator) -> tuple[float, list[Check]]:
    """Return the p value at which the permutation test has the false alarms of `vtax ab`, and each rule's own."""
    drawn = [_renamed(_stretch(quads, int(at)), rng) for at in rng.integers(len(quads), size=SWAPS)]
    permuted = [Permuted.of(each, rng) for each in drawn]
    alarms = sum(by_turns(each).slower for each in drawn)
    slower = sorted(each.p_value for each in permuted if each.change < 0)
    significance = slower[alarms] if alarms < len(slower) else 1.0
    shares = (
        ("vtax ab", alarms, True),
        (f"vtax ab --fixed {LONGEST}", sum(fixed(each).slower for each in drawn), True),
        ("Firecracker", sum(each.slower(SIGNIFICANCE, NOISE) for each in permuted), False),
    )
    return significance, [
        Check(
            f"no effect ({len(quads)} quads): called slower by {name}",
            f"{100 * count / SWAPS:.1f}% of {SWAPS:,} stretches",
            bound_of_alarms(SWAPS) if ours else "for comparison",
            count <= most_alarms(SWAPS) or not ours,
        )
        for name, count, ours in shares
    ]


def detected(quads: Sequence[Quad], significance: float, rng: np.random.Generator) -> Detected:
    """Return what each rule finds of an effect, over all stretches."""
    stretches = [_stretch(quads, at) for at in range(len(quads))]
    turns = [by_turns(each) for each in stretches]
    permuted = [Permuted.of(each, rng) for each in stretches]
    return Detected(
        by_turns=_percent([each.slower for each in turns]),
        quads=median(each.quads for each in turns),
        fixed=_percent([fixed(each).slower for each in stretches]),
        published=_percent([each.slower(SIGNIFICANCE, NOISE) for each in permuted]),
        calibrated=_percent([each.slower(significance, 0.0) for each in permuted]),
    )


def _stretch(quads: Sequence[Quad], at: int) -> list[Quad]:
    return [quads[(at + place) % len(quads)] for place in range(LONGEST)]


def _renamed(quads: Sequence[Quad], rng: np.random.Generator) -> list[Quad]:
    """The same with A and B exchanged in about half of the quads: without an effect neither name means anything."""
    return [
        dataclasses.replace(
            quad,
            a_first_fps=quad.b_first_fps,
            a_second_fps=quad.b_second_fps,
            b_first_fps=quad.a_first_fps,
            b_second_fps=quad.a_second_fps,
        )
        if swapped
        else quad
        for quad, swapped in zip(quads, rng.random(len(quads)) < 0.5, strict=True)
    ]


def _percent(found: Sequence[bool]) -> float:
    return 100 * float(np.mean(found))
