"""Numbers as text: the same digits for the same quantity on the terminal, in the report and in sentences."""

from __future__ import annotations

import math
from collections.abc import Callable

from vtax.model.bound import Bound
from vtax.model.estimate import Estimate
from vtax.statistics import Centre

Format = Callable[[float], str]

L1_MBPS = "Mbit/s L1"
"""The unit of loads and throughput where there is room for the layer: frames with all that layer 1 puts around them."""
L4_MBPS = "Mbit/s L4"
"""The unit of goodput where there is room for the layer: the payload of layer 4."""
MINUS = "−"
BEYOND_USE = 1000
"""An upper bound so many times farther from the estimate than the lower one bounds nothing.

That is an upper bound of so many times the estimate where the interval is one of logarithms, as a delay's is.
"""


def mbps(value: float) -> str:
    """Mbit/s of either layer with one decimal."""
    return _signed(f"{value:,.1f}")


def whole(value: float) -> str:
    """A count or a rate of many: no decimals."""
    return _signed(f"{value:,.0f}")


def percent(value: float) -> str:
    """Percent with one decimal."""
    return _signed(f"{value:,.1f}")


def points(value: float) -> str:
    """Percentage points with two decimals."""
    return _signed(f"{value:.2f}")


def ratio_as_percent(value: float) -> str:
    """A ratio of 0 to 1 as percent; two decimals, and never 0 for what is not 0."""
    shown = value * 100
    return "<0.01" if 0 < shown < 0.005 else _signed(f"{shown:.2f}")


def ratio(value: float) -> str:
    """A ratio around 1 with three decimals."""
    return _signed(f"{value:.3f}")


def microseconds(value_ns: float) -> str:
    """Nanoseconds as µs with about three digits."""
    value = value_ns / 1000
    decimals = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return _signed(f"{value:,.{decimals}f}")


def signed(form: Format) -> Format:
    """The same with a plus sign before what is added."""
    return lambda value: f"+{form(value)}" if value > 0 else form(value)


def share(value: float) -> str:
    """A share of trials as whole percent; never 0% or 100% for what is neither."""
    if 0 < value < 0.01:
        return "<1%"
    return ">99%" if 0.99 < value < 1 else f"{value:.0%}"


def amount(estimate: Estimate, form: Format) -> str:
    """An estimate's value as it is read: `812.3`, `≥812.3`, `≤812.3`, or that it is withheld."""
    return str(estimate.bound) if estimate.is_withheld else estimate.bound.sign + form(estimate.value)


def no_interval(estimate: Estimate) -> str:
    """What stands in an interval's place where none can be formed."""
    if estimate.is_withheld:
        return ""
    return "n=1" if estimate.n == 1 else "no interval"


def bounds(estimate: Estimate) -> tuple[float, float] | None:
    """An interval as it is shown: without an upper bound where that is beyond use. None where there is none.

    Of points it is from the least to the largest; a median's interval lies between two values, and none is beyond use.
    """
    if estimate.low is None or estimate.high is None:
        return None
    if estimate.points:
        return estimate.points[0], estimate.points[-1]
    if estimate.bound is not Bound.EXACT or estimate.centre is Centre.MEDIAN:
        return estimate.low, estimate.high
    below, above = estimate.value - estimate.low, estimate.high - estimate.value
    return estimate.low, math.inf if above > BEYOND_USE * below > 0 else estimate.high


def all_points(estimate: Estimate, form: Format) -> str:
    """`of 540.2, 899.8, 902.1`: all values, where an interval would tell less."""
    return f"of {', '.join(map(form, estimate.points))}"


def interval(estimate: Estimate, form: Format) -> str:
    """`low to high`; of a bound the end that bounds it, `from low` or `up to high`."""
    if estimate.points:
        return all_points(estimate, form)
    shown = bounds(estimate)
    if shown is None:
        return no_interval(estimate)
    low, high = map(form, shown)
    ends = {Bound.AT_LEAST: f"from {low}", Bound.AT_MOST: f"up to {high}"}
    return ends.get(estimate.bound, f"{low} to {high}")


def interval_words(estimate: Estimate, form: Format) -> str:
    """An interval in a sentence: `95% interval 640 to 658`, of a median so said; all points, or that there is none."""
    if estimate.points:
        return all_points(estimate, form)
    if not estimate.has_interval:
        return "no interval"
    median = "median, " if estimate.centre is Centre.MEDIAN else ""
    return f"{median}95% interval {interval(estimate, form)}"


def bracket(estimate: Estimate, form: Format) -> str:
    """`[low, high]`, with `∞)` or `(−∞` where it is open."""
    if estimate.points:
        return all_points(estimate, form)
    shown = bounds(estimate)
    if shown is None:
        return no_interval(estimate)
    low, high = shown
    left, right = "[" if math.isfinite(low) else "(", "]" if math.isfinite(high) else ")"
    return f"{left}{form(low)}, {form(high)}{right}"


def plus_minus(estimate: Estimate, form: Format) -> str:
    """`±half-width` of a symmetric interval; of a bound what is left of it, and of a median its own, in brackets."""
    if estimate.points:
        return all_points(estimate, form)
    if estimate.low is None or estimate.high is None:
        return no_interval(estimate)
    if estimate.bound is not Bound.EXACT or estimate.centre is Centre.MEDIAN:
        return bracket(estimate, form)
    return f"±{form((estimate.high - estimate.low) / 2)}"


def _signed(text: str) -> str:
    if text.endswith("inf"):
        return "∞" if text == "inf" else f"{MINUS}∞"
    if not text.startswith("-"):
        return text
    digits = text[1:]
    return digits if not digits.strip("0.,") else MINUS + digits
