"""The answer in words where two ends stream: a sentence a platform, each number with its interval and n."""

from __future__ import annotations

from collections.abc import Sequence

from vtax.model import numbers
from vtax.model.bound import Limit
from vtax.model.platform import Platform
from vtax.model.sentence import Sentence, bracket, group_of, left_out_words, listed, without_trials
from vtax.views.messages import MessageGoodput
from vtax.views.sentences import Clause


def message_sentences(platforms: Sequence[Platform], rows: Sequence[MessageGoodput]) -> list[Sentence]:
    """A sentence for each platform of the campaign, in its order, skipped ones included.

    Each speaks of the shortest and the longest messages of the first setting that the platform was measured in.
    """
    return [_sentence(platform, rows) for platform in platforms]


def _sentence(platform: Platform, rows: Sequence[MessageGoodput]) -> Sentence:
    own = [row for row in rows if row.platform == platform.name]
    if platform.skipped_reason or not own:
        return without_trials(platform)
    first = min(row.setting for row in own)
    here = sorted((row for row in own if row.setting == first), key=lambda row: row.message_bytes or 0)
    ends = list({row.message_bytes: row for row in (here[0], here[-1])}.values())
    clauses = [clause for row in ends for clause in _clauses(row)]
    share = max(estimate.left_out for clause in clauses for estimate in clause.estimates)
    told = listed([clause.text for clause in clauses])
    return Sentence(
        platform.name, group_of(platform), f"carries {told}, {first.label}; {left_out_words(share)}."
    )


def _clauses(row: MessageGoodput) -> list[Clause]:
    goodput, ratio = row.goodput_mbps, row.ratio
    length = "messages" if row.message_bytes is None else f"{row.message_bytes}-byte messages"
    text = f"{length} at {goodput.bound.words}{numbers.mbps(goodput.value)} Mbit/s {bracket(goodput, numbers.mbps)}"
    clauses = [Clause(text, (goodput,))]
    if ratio is not None:
        times = f"{ratio.bound.words}{numbers.ratio(ratio.value)} times {row.reference}'s"
        beside = f"{times} {bracket(ratio, numbers.ratio)}"
        if ratio.is_withheld:
            beside = f"cannot be compared with {row.reference}'s, both {Limit.FAR_END.at}"
        clauses.append(Clause(beside, (ratio,)))
    return clauses
