"""What set the numbers of some cells in the platform's stead."""

from __future__ import annotations

from collections.abc import Sequence

from vtax.views import numbers
from vtax.views.bound import Bound, Limit
from vtax.views.caveats.caveat import Caveat, cells_text
from vtax.views.cells import LIMIT_UNKNOWN, LINK_LIMITED
from vtax.views.goodput import Goodput
from vtax.views.link_share import LINK_FULL
from vtax.views.stages import TracedCell
from vtax.views.throughput import Maximum, Throughput

_CARRIED = "A maximum of trials that the platform carried in full even so is a lower bound: marked ≥"


def generator_limited(throughput: Sequence[Throughput]) -> list[Caveat]:
    """Loads that the generator set."""
    limited = [row for row in throughput if row.generator_limited]
    if not limited:
        return []
    return [
        Caveat(
            f"{cells_text(len(limited))} at the generator's ceiling",
            f"There the generator, not the platform, set the load of a trial or more. {_CARRIED}, drawn hollow.",
        )
    ]


def link_limited(throughput: Sequence[Throughput]) -> list[Caveat]:
    """Loads that the link set."""
    limited = [row for row in throughput if LINK_LIMITED in row.marks]
    if not limited:
        return []
    return [
        Caveat(
            f"{cells_text(len(limited))} at the link's rate",
            "There the link, not the platform, set the load of a trial or more; a faster link might show more. "
            f"{_CARRIED}.",
        )
    ]


def limit_unknown(throughput: Sequence[Throughput]) -> list[Caveat]:
    """Loads that stayed below the intended one for no reason that was seen."""
    limited = [row for row in throughput if LIMIT_UNKNOWN in row.marks]
    if not limited:
        return []
    return [
        Caveat(
            f"{cells_text(len(limited))} {Limit.UNKNOWN.at}",
            f"There less was offered than intended, for no reason that was seen. {_CARRIED}, drawn hollow.",
        )
    ]


def link_full(streamed: Sequence[Goodput]) -> list[Caveat]:
    """Guests that fill the link."""
    full = [row for row in streamed if row.fills_link]
    if not full:
        return []
    return [
        Caveat(
            f"{cells_text(len(full))} with a full link",
            f"There the guests' goodput is at least {LINK_FULL:.0%} of what the link carries. A ratio of 1 to "
            "another's shows no cost at this rate; a faster link might show one.",
        )
    ]


def far_end_busy(streamed: Sequence[Goodput]) -> list[Caveat]:
    """Goodput that the far ends may have set."""
    bounded = [row for row in streamed if row.aggregate_mbps.bound is Bound.AT_LEAST]
    if not bounded:
        return []
    return [
        Caveat(
            f"{cells_text(len(bounded))} at what the far ends can do",
            "There the CPU of the far ends was busy all the time, and the link not full: the instrument, not the "
            "guests, may have set the goodput, which is a lower bound, marked ≥ and drawn hollow. A ratio of two such "
            "values is withheld.",
        )
    ]


def highest_load_carried(found: Sequence[Maximum]) -> list[Caveat]:
    """Maxima at a load that was carried in full."""
    carried = [maximum for maximum in found if maximum.limit is Limit.OFFERED]
    if not carried:
        return []
    return [
        Caveat(
            f"{len(carried)} maxim{'um' if len(carried) == 1 else 'a'} {Limit.OFFERED.at}",
            "The platform carried in full what was offered, so that it might carry more: marked ≥. A higher load, or "
            "one between this and the next, would show its limit.",
        )
    ]


def traced(traced: Sequence[TracedCell]) -> list[Caveat]:
    """What following packets took."""
    if not traced:
        return []
    known = [cell.hook_ns for cell in traced if cell.hook_ns is not None]
    cost = f", about {max(known):.0f} ns a packet at each hook" if known else ""
    added = [cell.added_ns for cell in traced if cell.added_ns is not None]
    most = max(added, key=lambda each: each.value, default=None)
    form = numbers.signed(numbers.microseconds)
    more = (
        f" It added at most {form(most.value)} {numbers.bracket(most, form)} µs to a median." if most else ""
    )
    lost = sum(cell.lost for cell in traced)
    unseen = f" {lost} packets were lost sight of and are in no stage." if lost else ""
    return [
        Caveat(
            f"Packets were followed in {cells_text(len(traced))}",
            f"That takes time{cost}, which is in the stages; nothing else is told of these trials.{more}{unseen}",
        )
    ]
