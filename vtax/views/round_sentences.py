"""The answer in words where rounds were timed: a sentence a platform."""

from __future__ import annotations

from collections.abc import Sequence

from vtax.model import numbers
from vtax.model.platform import Platform
from vtax.model.runs import run_levels
from vtax.model.sentence import Sentence, bracket, group_of, left_out_words, listed, without_trials
from vtax.views.rounds import Rounds


def round_sentences(platforms: Sequence[Platform], rounds: Sequence[Rounds]) -> list[Sentence]:
    """A sentence for each platform of the campaign, in its order, skipped ones included.

    Each speaks of the fewest and the most hops of the network where that was measured, else of what was.
    """
    return [_sentence(platform, rounds) for platform in platforms]


def _sentence(platform: Platform, rounds: Sequence[Rounds]) -> Sentence:
    own = [row for row in rounds if row.platform == platform.name and row.is_usable]
    if platform.skipped_reason or not own:
        return without_trials(platform)
    network = sorted(
        (row for row in own if run_levels(row.setting).load == "network"), key=lambda row: row.setting
    )
    spoken = [network[0], network[-1]] if network else own
    spoken = [row for place, row in enumerate(spoken) if row not in spoken[:place]]
    share = max(row.left_out for row in spoken)
    told = listed([_clause(row) for row in spoken])
    return Sentence(platform.name, group_of(platform), f"has {told}; {left_out_words(share)}.")


def _clause(row: Rounds) -> str:
    if row.mean_ns is None or row.max_ns is None:
        return f"no completed round with {row.setting.label}"
    form = numbers.microseconds
    mean = f"a mean round of {form(row.mean_ns.value)} µs {bracket(row.mean_ns, form)}"
    return f"{mean} and a longest of {form(row.max_ns)} µs with {row.setting.label}"
