"""The answer in words where echoes were timed: a sentence a platform, each number with its interval and n."""

from __future__ import annotations

from collections.abc import Sequence

from vtax.views import numbers
from vtax.views.bulk_cells import guests_phrase
from vtax.views.echoes import Echoes
from vtax.views.provenance import Platform
from vtax.views.sentences import Sentence, bracket, group_of, left_out_words, listed, without_trials


def echo_sentences(platforms: Sequence[Platform], echoes: Sequence[Echoes]) -> list[Sentence]:
    """A sentence for each platform of the campaign, in its order, skipped ones included.

    Each speaks of the most guests that the platform was measured with.
    """
    return [_sentence(platform, echoes) for platform in platforms]


def _sentence(platform: Platform, echoes: Sequence[Echoes]) -> Sentence:
    own = [row for row in echoes if row.platform == platform.name and row.is_usable]
    if platform.skipped_reason or not own:
        return without_trials(platform)
    most = max(row.guests for row in own)
    told = [row for row in own if row.guests == most]
    share = max(row.left_out for row in told)
    text = f"passes echoes through one of {guests_phrase(most)} {listed([_clause(row) for row in told])}"
    return Sentence(platform.name, group_of(platform), f"{text}; {left_out_words(share)}.")


def _clause(row: Echoes) -> str:
    mean = row.mean_ns
    if mean is None:
        return f"never with {row.setting.label}"
    form = numbers.microseconds
    return f"in {form(mean.value)} µs with {row.setting.label} {bracket(mean, form)}"
