"""What set the numbers of some cells in the platform's stead."""

from __future__ import annotations

from collections.abc import Sequence

from vtax.model import numbers
from vtax.model.bound import Bound, Limit
from vtax.model.marks import LIMIT_UNKNOWN, LINK_LIMITED
from vtax.model.streams import LINK_FULL
from vtax.views.capacity import PDR, Capacity
from vtax.views.caveats.caveat import Caveat, cells_text
from vtax.views.goodput import Goodput
from vtax.views.stages import TracedCell
from vtax.views.throughput import Throughput

_CARRIED = "A throughput is a lower bound where the platform carried this load in full: marked ≥"


def generator_limited(throughput: Sequence[Throughput]) -> list[Caveat]:
    """Loads that the generator set."""
    limited = [row for row in throughput if row.generator_limited]
    if not limited:
        return []
    return [
        Caveat(
            f"{cells_text(len(limited))} at the generator's ceiling",
            f"The generator, not the platform, set the load of at least one trial. {_CARRIED}, drawn hollow.",
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
            "The link, not the platform, set the load of at least one trial; a faster link might show more. "
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
            f"The source offered less than intended, for an unknown reason. {_CARRIED}, drawn hollow.",
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
            f"The guests' goodput is at least {LINK_FULL:.0%} of the link's capacity. A ratio of 1 to another platform "
            "indicates no cost at this rate; a faster link might show one.",
        )
    ]


def far_end_busy(streamed: Sequence[Goodput]) -> list[Caveat]:
    """Goodput that the far ends may have set."""
    bounded = [row for row in streamed if row.aggregate_mbps.bound is Bound.AT_LEAST]
    if not bounded:
        return []
    return [
        Caveat(
            f"{cells_text(len(bounded))} with busy far ends",
            "The CPU of the far ends was always busy, and the link was not full. The instrument, not the guests, may "
            "have set the goodput: a lower bound, marked ≥ and drawn hollow. A ratio of two such values is withheld.",
        )
    ]


def highest_load_carried(found: Sequence[Capacity]) -> list[Caveat]:
    """Throughput within the PDR at a load that was carried in full."""
    carried = [
        each for each in found if each.goal == PDR.name and each.limit is Limit.OFFERED and not each.beyond
    ]
    if not carried:
        return []
    return [
        Caveat(
            f"{len(carried)} PDR{'' if len(carried) == 1 else 's'} {Limit.OFFERED.at}",
            "The platform carried the greatest load in full and might carry more: marked ≥. A higher load would show "
            "its limit.",
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
    unseen = f" The trace lost {lost} packets, which are in no stage." if lost else ""
    return [
        Caveat(
            f"Packets were followed in {cells_text(len(traced))}",
            f"Tracing takes time{cost}, included in the stages. Other tables leave these trials out.{more}{unseen}",
        )
    ]
