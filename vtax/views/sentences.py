"""The answer in words: one sentence a platform, each number with its interval and n."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vtax.model import numbers
from vtax.model.bound import Bound
from vtax.model.dimensions import load_phrase
from vtax.model.estimate import Estimate
from vtax.model.frames import frame_levels
from vtax.model.levels import Setting
from vtax.model.platform import Platform
from vtax.model.sentence import Sentence, bracket, group_of, left_out_words, listed, without_trials
from vtax.views.capacity import NDR, PDR, Capacity
from vtax.views.facets.loads import LoadFacet
from vtax.views.searches import Found
from vtax.views.tax import CapacityChange, LoadCost

Wording = Callable[[str], str]

_WITHIN = f"at no more than {PDR.percent} loss"


@dataclass(frozen=True)
class Clause:
    """A part of a sentence, with the estimates it speaks of."""

    text: str
    estimates: tuple[Estimate, ...] = ()


def sentences(platforms: Sequence[Platform], loads: LoadFacet) -> list[Sentence]:
    """A sentence for each platform of the campaign, in its order, skipped ones included.

    Each speaks of the smallest frames and the fewest streams, where the cost a packet shows most.
    """
    return [_sentence(platform, loads) for platform in platforms]


def _sentence(platform: Platform, loads: LoadFacet) -> Sentence:
    group = group_of(platform)
    rows: list[Capacity | Found] = [*loads.capacities, *loads.searches]
    settings = [row.setting for row in rows if row.platform == platform.name]
    if platform.skipped_reason or not settings:
        return without_trials(platform)
    own = loads.about(platform.name, min(settings))
    if own.searches:
        text = listed([_found(row) for row in own.searches])
        share = max(row.left_out for row in own.searches)
        return Sentence(platform.name, group, f"carries {text}; {left_out_words(share)}.")
    compared = [_change(change) for change in own.changes[:1]]
    if group == "native" and own.changes and own.changes[0].change_percent:
        clauses = [*compared, *_costs(own.costs)]
    else:
        clauses = [_carried(own.capacities), *_median_delay(own), *compared]
    shares = [estimate.left_out for clause in clauses for estimate in clause.estimates]
    share = max(shares or [row.left_out for row in own.throughput])
    text = "; ".join(clause.text for clause in clauses)
    return Sentence(platform.name, group, f"{text}; {left_out_words(share)}.")


def _found(row: Found) -> str:
    """A goal's bounds; the conditional throughput with its n."""
    frames = f"of {_frames(row.setting)} at no more than {numbers.ratio_as_percent(row.loss_ratio)}% loss"
    searches = f"{row.goal}, n = {row.searches}"
    if row.lower_mbps is None:
        most = "" if row.upper_mbps is None else f": less than {numbers.mbps(row.upper_mbps)} Mbit/s"
        return f"no tested load {frames}{most} ({searches})"
    if row.bounded_by is not None or row.upper_mbps is None:
        return f"at least {numbers.mbps(row.lower_mbps)} Mbit/s {frames} ({searches}; {row.bounded_by})"
    return f"between {numbers.mbps(row.lower_mbps)} and {numbers.mbps(row.upper_mbps)} Mbit/s {frames} ({searches})"


def _change(change: CapacityChange) -> Clause:
    found, other = change.change_percent, change.reference_capacity
    frames, reference = _frames(change.setting), change.reference
    if found is None or other is None:
        return Clause(f"cannot be compared with {reference}: {change.problem}")
    if found.is_withheld:
        carried = [each.received_mbps for each in (change.capacity, other) if each.received_mbps]
        own, others = map(_with_mbps, carried)
        text = (
            f"carries at least {own} of {frames} and {reference} at least {others}, {change.bounded_by}: "
            "the throughput cost cannot be measured"
        )
    else:
        read = _magnitude(found).bound.words
        text = _by_sign(
            found,
            numbers.percent,
            none=lambda size: (
                f"{size}% throughput of {frames} against {reference} {_WITHIN}, not significant"
            ),
            more=lambda size: f"carries {read}{size}% more {frames} than {reference} {_WITHIN}",
            less=lambda size: f"carries {read}{size}% fewer {frames} than {reference} {_WITHIN}",
            note=f"; {change.bounded_by}" if change.bounded_by else "",
        )
    return Clause(text, (found,))


def _costs(costs: Sequence[LoadCost]) -> list[Clause]:
    """Delay and CPU added at the highest load that both carried in full, else at the lowest load.

    Loads at which the delay of both is known come first: where a source waits for its own link, it is not.
    """
    known = [cost for cost in costs if cost.added_delay_p50_ns or cost.added_host_percent]
    if not known:
        return []
    full = [cost for cost in known if cost.carried_in_full]
    candidates = full[::-1] or known
    cost = next((cost for cost in candidates if cost.added_delay_p50_ns), candidates[0])
    overload = "" if full else " (at least one platform did not carry this load in full)"
    where = f"at {load_phrase(cost.intended_mbps)}{overload}"
    parts = []
    if delay := cost.added_delay_p50_ns:
        text = _by_sign(
            delay,
            numbers.microseconds,
            none=lambda size: f"{size} µs median one-way delay, not significant",
            more=lambda size: f"adds {size} µs to the median one-way delay",
            less=lambda size: f"reduces the median one-way delay by {size} µs",
        )
        parts.append(Clause(text, (delay,)))
    if cpu := cost.added_host_percent:
        text = _by_sign(
            cpu,
            numbers.percent,
            none=lambda size: f"{size}% of a CPU, not significant",
            more=lambda size: f"uses {size}% of a CPU more",
            less=lambda size: f"uses {size}% of a CPU less",
        )
        parts.append(Clause(text, (cpu,)))
    text = f"{where} {' and '.join(part.text for part in parts)}"
    return [Clause(text, tuple(estimate for part in parts for estimate in part.estimates))]


def _by_sign(
    found: Estimate, form: numbers.Format, *, none: Wording, more: Wording, less: Wording, note: str = ""
) -> str:
    """Return one of three wordings: the interval includes zero, or the value is above or below it.

    What is at most so much more, or less, is that whether or not it is none at all.
    """
    size = _magnitude(found)
    if found.has_interval and found.includes(0.0) and size.bound is not Bound.AT_MOST:
        with_sign = numbers.signed(form)
        return f"{none(found.bound.words + with_sign(found.value))} {bracket(found, with_sign, note)}"
    wording = more if found.value > 0 else less
    return f"{wording(form(size.value))} {bracket(size, form, note)}"


def _carried(goals: Sequence[Capacity]) -> Clause:
    """What is carried within the PDR, and whether it is without any loss."""
    within, lossless = (next(each for each in goals if each.goal == goal.name) for goal in (PDR, NDR))
    frames, found, less_than = _frames(within.setting), within.received_mbps, within.less_than_mbps
    if found is None or within.maximum is None:
        most = "no measured load" if less_than is None else f"less than {numbers.mbps(less_than)} Mbit/s"
        return Clause(f"carries {most} of {frames} {_WITHIN}")
    if within.is_bracketed and less_than is not None:
        amount = f"between {numbers.mbps(found.value)} and {numbers.mbps(less_than)} Mbit/s"
        return Clause(f"carries {amount} of {frames} {_WITHIN} {bracket(found, numbers.mbps)}", (found,))
    is_lossless = lossless.maximum is not None and lossless.maximum.cell is within.maximum.cell
    loss = f"with no loss in {within.frames_sent:,} frames" if is_lossless and within.frames_sent else _WITHIN
    where = f", {within.limit.at}" if within.limit else ""
    amount = f"{found.bound.words}{_rate(found.value, within.received_fps)}"
    return Clause(f"carries {amount} of {frames} {loss}{where} {bracket(found, numbers.mbps)}", (found,))


def _rate(mbps: float, fps: Estimate | None) -> str:
    frames = f" ({numbers.whole(fps.value)} frames/s)" if fps else ""
    return f"{numbers.mbps(mbps)} Mbit/s{frames}"


def _median_delay(own: LoadFacet) -> list[Clause]:
    """The median one-way delay at the highest load carried in full, else at the lowest load."""
    medians = [row for row in own.percentiles if row.quantile == 0.5 and row.delay_ns]
    carried = {row.intended_mbps for row in own.throughput if row.carried_in_full}
    full = [row for row in medians if row.intended_mbps in carried]
    row = full[-1] if full else medians[0] if medians else None
    if row is None or row.delay_ns is None:
        return []
    overload = "" if full else ", which it does not carry in full"
    found = row.delay_ns
    text = (
        f"has a median one-way delay of {numbers.microseconds(found.value)} µs "
        f"at {load_phrase(row.intended_mbps)}{overload} {bracket(found, numbers.microseconds)}"
    )
    return [Clause(text, (found,))]


def _frames(setting: Setting) -> str:
    levels = frame_levels(setting)
    streams = f" in {levels.streams} streams" if levels.streams > 1 else ""
    further = "".join(f" at {name} = {value}" for name, value in setting.shown)
    return f"{levels.frames}{streams}{further}"


def _with_mbps(estimate: Estimate) -> str:
    return f"{numbers.mbps(estimate.value)} Mbit/s {bracket(estimate, numbers.mbps)}"


def _magnitude(estimate: Estimate) -> Estimate:
    """The same without its sign, for words that carry the direction."""
    return estimate if estimate.value >= 0 else estimate.map(operator.neg)
