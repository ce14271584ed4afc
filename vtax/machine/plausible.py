"""Whether an answer that matches its type can be true: its numbers may contradict each other.

What is checked follows from the names of fields, so that a new answer is checked as well: times that begin and end,
statistics of the same values, and numbers with a fraction, none of which can be negative.
"""

import math
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, pairwise
from operator import attrgetter

import msgspec

from vtax.agent_message import Message

RUN = ("start_ns", "end_ns")
INTERVALS = (RUN, ("first_ns", "last_ns"))
RISING = ("min_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"), ("p50", "p99", "max")
"""Statistics in the order of their values."""
COUNTED = ("count", "min_ns", "mean_ns", "max_ns")
"""How many values there are, and what of them is only known where there are any."""
PARTS = (("received", "sent"), ("lost", "sent"))
"""The first is a part of the second, where an answer has all of them: an interface has sent and received as well."""
FASTEST_CLOCK, SLACK_S = 2.0, 1.0
"""How much faster than here time may go where an agent is: an emulated machine's clock catches up."""
PRECISION = 0.01
"""Quantiles come from a histogram, whose buckets are as wide, and extremes do not."""


def overlong(answer: Message, elapsed_s: float) -> str | None:
    """Return what lasted longer than the call itself, which took `elapsed_s` here; None where nothing did."""
    if not {*RUN} <= {*answer.__struct_fields__}:
        return None
    start_ns, end_ns = (getattr(answer, name) for name in RUN)
    lasted_s = (end_ns - start_ns) / 1e9
    if lasted_s <= FASTEST_CLOCK * elapsed_s + SLACK_S:
        return None
    return f"end_ns: {lasted_s:.1f} s after start_ns, of a call of {elapsed_s:.1f} s"


def contradiction(answer: Message) -> str | None:
    """Return the first field of an answer that cannot be true, and why; None where there is none."""
    plan = _plan(type(answer))
    if plan.usual is not None and _is_usual(*plan.usual(answer)):
        return None
    if (found := next(_own(answer, plan), None)) is not None:
        return found
    for name in plan.within:
        value = getattr(answer, name)
        for number, part in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(part, Message) and (problem := contradiction(part)) is not None:
                place = f"{name}[{number}]" if isinstance(value, list) else name
                return f"{place}.{problem}"
    return None


def _is_usual(
    count: int, mean: float, least: int, p50: int, p90: int, p99: int, p999: int, most: int
) -> bool:
    """Whether times are as most are: some, all told, and in order. It is quick, as there are many."""
    try:
        return count > 0 and least <= p50 <= p90 <= p99 <= p999 <= most and least <= mean <= most
    except TypeError:  # one is not known
        return False


def _own(answer: Message, plan: "_Plan") -> Iterator[str]:
    for name in plan.fractions:
        value = getattr(answer, name)
        if value is not None and not (math.isfinite(value) and value >= 0):
            yield f"{name}: {value:g} is negative or endless"
    for begin, end in plan.intervals:
        first, last = getattr(answer, begin), getattr(answer, end)
        if (first is None) != (last is None):
            yield f"{end}: {last}, and {begin} {first}"
        elif first is not None and last < first:
            yield f"{end}: {last} is before {begin} {first}"
    for part, whole in plan.parts:
        if getattr(answer, part) > getattr(answer, whole):
            yield f"{part}: {getattr(answer, part)} of {whole} {getattr(answer, whole)}"
    for names in plan.rising:
        yield from _falling(answer, names)
    if plan.counts:
        yield from _miscounted(answer)


def _falling(answer: Message, names: tuple[str, ...]) -> Iterator[str]:
    known = [(name, value) for name in names if (value := getattr(answer, name)) is not None]
    for (lower, less), (higher, more) in pairwise(known):
        if more < less - PRECISION * abs(less):
            yield f"{higher}: {more} is less than {lower} {less}"


def _miscounted(answer: Message) -> Iterator[str]:
    count, least, mean, most = (getattr(answer, name) for name in COUNTED)
    known = [value for value in (least, most) if value is not None]
    if bool(count) != (len(known) == 2):
        yield f"count: {count}, with min_ns {least} and max_ns {most}"
    elif known and mean is not None and not least * (1 - PRECISION) <= mean <= most * (1 + PRECISION):
        yield f"mean_ns: {mean:g} is not from min_ns {least} to max_ns {most}"


@dataclass(frozen=True)
class _Plan:
    """Which fields of a type are checked, and how."""

    fractions: tuple[str, ...]
    intervals: tuple[tuple[str, str], ...]
    parts: tuple[tuple[str, str], ...]
    rising: tuple[tuple[str, ...], ...]
    counts: bool
    within: tuple[str, ...]
    """The fields that hold other parts with checks of their own."""
    usual: Callable[[Message], tuple[int, ...]] | None
    """Of a type that is times and nothing else: gets what `_is_usual` looks at."""


@cache
def _plan(kind: type[Message]) -> _Plan:
    types = {field.name: field.type for field in msgspec.structs.fields(kind)}
    times = {*COUNTED, *RISING[0]}
    rising = [tuple(name for name in names if name in types) for names in RISING]
    return _Plan(
        tuple(name for name, of in types.items() if float in _leaves(of)),
        tuple(pair for pair in INTERVALS if types.keys() >= {*pair}),
        PARTS if types.keys() >= {*chain(*PARTS)} else (),
        tuple(names for names in rising if len(names) > 1),
        types.keys() >= {*COUNTED},
        tuple(name for name, of in types.items() if any(_is_checked(leaf) for leaf in _leaves(of))),
        attrgetter("count", "mean_ns", *RISING[0]) if {*types} == {*times, "histogram"} else None,
    )


def _is_checked(leaf: object) -> bool:
    if not (isinstance(leaf, type) and issubclass(leaf, Message)):
        return False
    plan = _plan(leaf)
    return bool(plan.fractions or plan.intervals or plan.parts or plan.rising or plan.within)


def _leaves(of: object) -> Iterator[object]:
    """The types that a type is made of."""
    inner = typing.get_args(of)
    if typing.get_origin(of) is typing.Annotated:
        yield from _leaves(inner[0])
    elif inner:
        for each in inner:
            yield from _leaves(each)
    else:
        yield of
