"""The answer in words where requests were timed: a sentence a platform, each number with its interval and n."""

from __future__ import annotations

from collections.abc import Sequence

from vtax.views import numbers
from vtax.views.estimate import Estimate
from vtax.views.provenance import Platform
from vtax.views.responses import AddedTime, Responses
from vtax.views.sentences import Sentence, bracket, group_of, left_out_words, listed, without_trials


def response_sentences(
    platforms: Sequence[Platform], responses: Sequence[Responses], added: Sequence[AddedTime]
) -> list[Sentence]:
    """A sentence for each platform of the campaign, in its order, skipped ones included.

    Each speaks of the shortest and the longest requests of the first setting that the platform was measured in.
    """
    return [_sentence(platform, responses, added) for platform in platforms]


def _sentence(platform: Platform, responses: Sequence[Responses], added: Sequence[AddedTime]) -> Sentence:
    own = [row for row in responses if row.platform == platform.name and row.is_usable]
    if platform.skipped_reason or not own:
        return without_trials(platform)
    first = min(row.setting for row in own)
    here = sorted((row for row in own if row.setting == first), key=lambda row: row.message_bytes)
    ends = list({row.message_bytes: row for row in (here[0], here[-1])}.values())
    share = max(row.left_out for row in ends)
    told = listed([_clause(row, added) for row in ends])
    text = f"answers {told}, with {first.label}; {left_out_words(share)}."
    return Sentence(platform.name, group_of(platform), text)


def _clause(row: Responses, added: Sequence[AddedTime]) -> str:
    requests = f"{row.message_bytes}-byte requests"
    if row.mean_ns is None:
        return f"no {requests}"
    time = f"{requests} in {_time(row.mean_ns)}"
    place = (row.platform, row.setting, row.message_bytes)
    more = [each for each in added if (each.platform, each.setting, each.message_bytes) == place]
    return ", ".join([time, *(_added(each) for each in more)])


def _added(row: AddedTime) -> str:
    found, form = row.added_ns, numbers.microseconds
    if found.has_interval and found.includes(0.0):
        return f"not significantly different from {row.reference} {bracket(found, numbers.signed(form))}"
    change = f"{form(abs(found.value))} µs {'more' if found.value > 0 else 'less'}"
    return f"{change} than {row.reference} {bracket(found, numbers.signed(form))}"


def _time(found: Estimate) -> str:
    return f"{numbers.microseconds(found.value)} µs {bracket(found, numbers.microseconds)}"
