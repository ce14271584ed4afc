"""The answer in words where packets were followed: a sentence a platform, each number with its interval and n."""

from __future__ import annotations

from collections.abc import Sequence

from vtax.model import numbers
from vtax.model.estimate import Estimate
from vtax.model.platform import Platform
from vtax.model.sentence import Sentence, bracket, group_of, left_out_words, listed, without_trials
from vtax.views.stages import UNATTRIBUTED, StageDelay

DIRECTIONS = {"rx": "to a guest", "tx": "from a guest", "through": "through the host"}
"""The direction of packets, after "packets"."""


def stage_sentences(platforms: Sequence[Platform], stages: Sequence[StageDelay]) -> list[Sentence]:
    """A sentence for each platform of the campaign, in its order, skipped ones included.

    Each speaks of the first setting that the platform was measured in: how long the host has packets in each
    direction, and where most of it is spent.
    """
    return [_sentence(platform, stages) for platform in platforms]


def _sentence(platform: Platform, stages: Sequence[StageDelay]) -> Sentence:
    own = [row for row in stages if row.platform == platform.name and row.host is not None]
    if platform.skipped_reason or not own:
        return without_trials(platform)
    first = min(row.setting for row in own)
    here = [row for row in own if row.setting == first and row.host == own[0].host]
    wholes = [row for row in here if row.is_whole]
    told = listed([_clause(whole, here) for whole in wholes])
    share = max(whole.mean_ns.left_out for whole in wholes)
    text = f"delays packets {told}, with {first.label}; {left_out_words(share)}."
    return Sentence(platform.name, group_of(platform), text)


def _clause(whole: StageDelay, here: Sequence[StageDelay]) -> str:
    parts = [row for row in here if not row.is_whole and row.stage != UNATTRIBUTED]
    if whole.direction != "through":
        parts = [row for row in parts if row.direction == whole.direction]
    longest = max(parts, key=lambda row: row.mean_ns.value)
    time = f"{DIRECTIONS[whole.direction]} by {_time(whole.mean_ns)}"
    share = longest.mean_ns.value / whole.mean_ns.value if whole.mean_ns.value else 1.0
    return f"{time}, {numbers.share(share)} of it in the stage {longest.stage}"


def _time(found: Estimate) -> str:
    return f"{numbers.microseconds(found.value)} µs {bracket(found, numbers.microseconds)}"
