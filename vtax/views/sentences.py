"""The answer in words: one sentence a platform, each number with its interval and n."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass

from vtax.views import numbers
from vtax.views.cells import Setting, load_label, load_order
from vtax.views.delay import DelayPercentile
from vtax.views.estimate import Estimate
from vtax.views.provenance import Platform
from vtax.views.tax import RAW, Bound, LoadCost, MaximumChange
from vtax.views.throughput import Maximum, Throughput


@dataclass(frozen=True)
class Sentence:
    """What one platform costs. `group` is reference, native, emulated or skipped."""

    platform: str
    group: str
    text: str


@dataclass(frozen=True)
class Findings:
    """What the sentences are made from."""

    platforms: Sequence[Platform]
    throughput: Sequence[Throughput]
    maxima: Sequence[Maximum]
    percentiles: Sequence[DelayPercentile]
    changes: Sequence[MaximumChange]
    costs: Sequence[LoadCost]


def sentences(findings: Findings) -> list[Sentence]:
    """A sentence for each platform of the campaign, in its order, skipped ones included.

    Each speaks of the smallest frames and the fewest streams, where the cost a packet shows most.
    """
    return [_sentence(platform, findings) for platform in findings.platforms]


def _sentence(platform: Platform, findings: Findings) -> Sentence:
    if platform.skipped_reason:
        remedy = f" {platform.skipped_remedy}." if platform.skipped_remedy else ""
        return Sentence(platform.name, "skipped", f"skipped: {platform.skipped_reason}.{remedy}")
    group = "emulated" if platform.emulated else "reference" if platform.name == RAW else "native"
    own = sorted((m for m in findings.maxima if m.platform == platform.name), key=lambda m: m.setting)
    if not own:
        return Sentence(platform.name, group, "no usable trial yet.")
    setting = own[0].setting
    change = next((c for c in findings.changes if c.platform == platform.name and c.setting == setting), None)
    if group == "native" and change:
        clauses = [_change_clause(change, setting), *_cost_clauses(platform.name, setting, findings)]
    else:
        clauses = [_maximum_clause(own[0], setting), *_delay_clause(platform.name, setting, findings)]
        if change:
            clauses.append(_change_clause(change, setting))
    shares = [own[0].received_mbps.left_out]
    if change and change.change_percent:
        shares.append(change.change_percent.left_out)
    text = ", ".join(clauses)
    return Sentence(platform.name, group, f"{text}; {_left_out(max(shares))}.")


def _change_clause(change: MaximumChange, setting: Setting) -> str:
    frames, reference = _frames(setting), change.reference
    if change.problem or change.change_percent is None or change.reference_maximum is None:
        return f"cannot be compared with {reference}: {change.problem}"
    if change.bound is Bound.HIDDEN:
        own, other = change.maximum.received_mbps, change.reference_maximum.received_mbps
        return (
            f"ran into the generator's ceiling with {frames}, as did {reference}, so that no throughput cost can "
            f"be seen (both are lower bounds: {_mbps(own)}; {reference} {_mbps(other)})"
        )
    found = change.change_percent
    if found.has_interval and found.includes(0.0):
        hint = "" if change.bound is Bound.EXACT else f" ({_ceiling(change)})"
        return (
            f"no difference from {reference} in the maximum of {frames} found beyond "
            f"±{numbers.percent(_reach(found))}%{_bracket(found, numbers.percent)}{hint}"
        )
    word = "fewer" if found.value < 0 else "more"
    bound = "" if change.bound is Bound.EXACT else f"{change.bound} " if found.value < 0 else ""
    return (
        f"carries {bound}{numbers.percent(abs(found.value))}% {word} {frames} at its maximum than {reference}"
        f"{_bracket(_magnitude(found), numbers.percent)}"
    )


def _ceiling(change: MaximumChange) -> str:
    limited = change.reference if change.bound is Bound.AT_LEAST else change.platform
    return f"{limited} ran into the generator's ceiling"


def _cost_clauses(platform: str, setting: Setting, findings: Findings) -> list[str]:
    costs = [
        cost
        for cost in findings.costs
        if cost.platform == platform
        and cost.setting == setting
        and (cost.added_delay_p50_ns or cost.added_host_percent)
    ]
    if not costs:
        return []
    full = [cost for cost in costs if cost.carried_in_full]
    cost = full[-1] if full else min(costs, key=lambda c: load_order(c.intended_mbps))
    where = f"at {load_label(cost.intended_mbps)} Mbit/s"
    if not full:
        where += ", which not both carried in full,"
    clauses = []
    if cost.added_delay_p50_ns:
        clauses.append(
            _added(
                cost.added_delay_p50_ns, numbers.microseconds, " µs", "to the median one-way delay", "delay"
            )
        )
    if cost.added_host_percent:
        clauses.append(
            _added(cost.added_host_percent, numbers.percent, "% of a CPU", "to the host's load", "CPU")
        )
    joined = " and ".join(clauses)
    return [f"and {where} {joined}"]


def _added(found: Estimate, form: numbers.Format, unit: str, to_what: str, what: str) -> str:
    bracket = _bracket(found, form)
    if found.has_interval and found.includes(0.0):
        return f"no added {what} is found beyond ±{form(_reach(found))}{unit}{bracket}"
    if found.value < 0:
        return f"{form(-found.value)}{unit} is taken from what {RAW} needs in {what}{_bracket(_magnitude(found), form)}"
    return f"adds {form(found.value)}{unit} {to_what}{bracket}"


def _maximum_clause(maximum: Maximum, setting: Setting) -> str:
    bound = "at least " if maximum.lower_bound else ""
    limit = " (the generator's ceiling)" if maximum.lower_bound else ""
    estimate = maximum.received_mbps
    return (
        f"carries {bound}{numbers.mbps(estimate.value)} Mbit/s of {_frames(setting)} at its maximum{limit}"
        f"{_bracket(estimate, numbers.mbps)}"
    )


def _delay_clause(platform: str, setting: Setting, findings: Findings) -> list[str]:
    medians = [
        row
        for row in findings.percentiles
        if row.platform == platform and row.setting == setting and row.quantile == 0.5
    ]
    if not medians:
        return []
    full = {
        row.intended_mbps
        for row in findings.throughput
        if row.platform == platform and row.setting == setting and row.carried_in_full
    }
    carried = [row for row in medians if row.intended_mbps in full]
    row = carried[-1] if carried else medians[0]
    note = "" if carried else ", which it does not carry in full"
    return [
        f"with a median one-way delay of {numbers.microseconds(row.delay_ns.value)} µs"
        f"{_bracket(row.delay_ns, numbers.microseconds)} at {load_label(row.intended_mbps)} Mbit/s{note}"
    ]


def _frames(setting: Setting) -> str:
    further = "".join(f", {name} = {value}" for name, value in setting.further)
    streams = f" in {setting.streams} streams" if setting.streams > 1 else ""
    return f"{setting.frame_bytes}-byte frames{streams}{further}"


def _bracket(estimate: Estimate, form: numbers.Format) -> str:
    if not estimate.has_interval:
        return f" (n = {estimate.n}, no interval)"
    return f" (95% interval {numbers.interval(estimate, form)}, n = {estimate.n})"


def _mbps(estimate: Estimate) -> str:
    known = f"95% interval {numbers.interval(estimate, numbers.mbps)}, " if estimate.has_interval else ""
    return f"{numbers.mbps(estimate.value)} Mbit/s, {known}n = {estimate.n}"


def _magnitude(estimate: Estimate) -> Estimate:
    """The same without its sign, for words that carry the direction."""
    return estimate if estimate.value >= 0 else estimate.map(operator.neg)


def _reach(estimate: Estimate) -> float:
    """The largest size of difference that the interval leaves possible."""
    return max(abs(estimate.low or 0.0), abs(estimate.high or 0.0))


def _left_out(share: float) -> str:
    return f"{numbers.share(share)} of these trials left out as invalid" if share else "no trial left out"
