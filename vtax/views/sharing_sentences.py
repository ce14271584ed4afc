"""The answer in words where guests share a link: a sentence a platform, each number with its interval and n."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from vtax.model import numbers
from vtax.model.dimensions import guests_phrase
from vtax.model.levels import Setting
from vtax.model.platform import Platform
from vtax.model.sentence import Sentence, bracket, group_of, left_out_words, listed, without_trials
from vtax.model.streams import stream_levels
from vtax.views.efficiency import Efficiency
from vtax.views.fairness import Fairness
from vtax.views.goodput import Goodput
from vtax.views.guest_cpu import GuestCpu
from vtax.views.sentences import Clause
from vtax.views.sharing import Sharing

VERBS = {"sending": "sends", "receiving": "receives", "forwarding": "forwards"}


class _OfGuests(Protocol):
    @property
    def platform(self) -> str: ...
    @property
    def setting(self) -> Setting: ...
    @property
    def guests(self) -> int: ...


Row = TypeVar("Row", bound=_OfGuests)


def sharing_sentences(platforms: Sequence[Platform], sharing: Sharing) -> list[Sentence]:
    """A sentence for each platform of the campaign, in its order, skipped ones included.

    Each speaks of the first setting and the most guests that the platform was measured with there.
    """
    return [_sentence(platform, sharing) for platform in platforms]


def _sentence(platform: Platform, sharing: Sharing) -> Sentence:
    rows = [row for row in sharing.goodput if row.platform == platform.name]
    if platform.skipped_reason or not rows:
        return without_trials(platform)
    setting = min(row.setting for row in rows)
    most = max((row for row in rows if row.setting == setting), key=lambda row: row.guests)
    clauses = [
        _goodput(most),
        *(_efficiency(row) for row in _same(sharing.efficiency, most)),
        *(_fairness(row) for row in _same(sharing.fairness, most)),
        *(_cpu(row) for row in _same(sharing.cpu, most)),
    ]
    told = [clause for clause in clauses if clause is not None]
    share = max(estimate.left_out for clause in told for estimate in clause.estimates)
    text = listed([clause.text for clause in told])
    return Sentence(platform.name, group_of(platform), f"{text}; {left_out_words(share)}.")


def _same(rows: Iterable[Row], place: Goodput) -> list[Row]:
    """Those of the same cell."""
    key = (place.platform, place.setting, place.guests)
    return [row for row in rows if (row.platform, row.setting, row.guests) == key]


def _goodput(row: Goodput) -> Clause:
    found = row.aggregate_mbps
    goodput = f"{found.bound.words}{numbers.mbps(found.value)} Mbit/s"
    text = (
        f"with {guests_phrase(row.guests)} {VERBS[stream_levels(row.setting).direction]} {goodput} of "
        f"{stream_levels(row.setting).transport.upper()} goodput {bracket(found, numbers.mbps)}"
    )
    return Clause(text, (found,))


def _efficiency(row: Efficiency) -> Clause | None:
    found = row.efficiency
    if found is None:
        return None
    whose = "its own" if row.platform == row.reference else f"{row.reference}'s"
    if found.is_withheld:
        return Clause(f"cannot be compared with {whose} with one guest, {row.problem}", (found,))
    times = f"{found.bound.words}{numbers.ratio(found.value)} times {whose} with one guest"
    text = f"{times} {bracket(found, numbers.ratio)}"
    return Clause(text, (found,))


def _fairness(row: Fairness) -> Clause | None:
    found = row.goodput
    if found is None:
        return None
    return Clause(
        f"shared with a fairness of {numbers.ratio(found.value)} {bracket(found, numbers.ratio)}", (found,)
    )


def _cpu(row: GuestCpu) -> Clause | None:
    found = row.host_percent
    if found is None:
        return None
    text = (
        f"uses {numbers.percent(found.value)}% of a CPU for host and guests {bracket(found, numbers.percent)}"
    )
    return Clause(text, (found,))
