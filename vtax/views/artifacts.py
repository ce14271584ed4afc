"""Timing artifacts in rounds of relays: which are slow in what pattern, and how they differ from the bare host's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vtax.model.levels import Setting
from vtax.model.platform import Platform, references
from vtax.statistics.artifacts import Finding, detect
from vtax.views.rounds import Runs


@dataclass(frozen=True)
class Artifact:
    """What was found in a cell's runs; `p_value` is None where there was too little to look for it.

    `reference` is what they were compared with: raw, or the first emulated platform; None where that was not measured.
    """

    platform: str
    setting: Setting
    reference: str | None
    sentence: str
    p_value: float | None


def round_artifacts(found: Sequence[Runs], platforms: Sequence[Platform]) -> list[Artifact]:
    """Rows in the order of `found`; none for a cell in which nothing was found."""
    pairs = references(platforms)
    with_rounds = [runs for runs in found if not np.isnan(runs.ns).all()]
    by_place = {(runs.platform, runs.setting): runs for runs in with_rounds}
    rows = []
    for runs in with_rounds:
        reference = pairs.get(runs.platform)
        other = by_place.get((reference, runs.setting)) if reference else None
        compared = reference if other else None
        for answer in detect(runs.ns, other.ns if other else None):
            p_value = answer.p_value if isinstance(answer, Finding) else None
            rows.append(Artifact(runs.platform, runs.setting, compared, answer.sentence, p_value))
    return rows
