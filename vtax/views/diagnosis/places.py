"""Where a loss of throughput is: what came less is what was offered less, and what each hop dropped more.

Less of a flood costs nothing as long as it is more than the reference carried: it would have dropped the rest. So what
a reference dropped counts as far as it would have at the cell's offer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import fmean

import numpy as np

from vtax.model.diagnosed import DELIVERED, RECEIVED
from vtax.model.marks import BACKPRESSURED
from vtax.views.diagnosis.candidate import Candidate, CauseKind
from vtax.views.diagnosis.effects import Affected, differences, of
from vtax.views.diagnosis.references import Pair
from vtax.views.diagnosis.trials import WAITING_ROOMS, Column, Metric, Trials


def places(affected: Affected) -> Iterator[Candidate]:
    """The source, and every hop that dropped frames; of workloads without frames nothing is known."""
    pair, effect = affected.pair, affected.effects[0]
    lost = fmean(effect.by_block.values())
    if effect.quantity is RECEIVED:
        yield from _source(pair, lost)
        yield from _hops(pair, lost, _offered, "Mbit/s", _still_dropped(pair))
    elif effect.quantity is DELIVERED:
        yield from _hops(pair, lost, lambda trials: np.ones(len(trials)), "ratio", {})


def _source(pair: Pair, lost: float) -> Iterator[Candidate]:
    offered, carried = pair.cell.by_block(_offered), pair.reference.by_block(of(RECEIVED))
    less = {
        block: min(-more, max(0.0, carried[block] - offered[block]))
        for block, more in differences(pair, _offered).items()
    }
    if less:
        mark = pair.cell.marks.most_common(1)[0][0] if pair.cell.marks else None
        is_held = mark == BACKPRESSURED
        kind = CauseKind.HELD_BACK if is_held else CauseKind.LIMITED
        yield Candidate(kind, less, "Mbit/s", fmean(less.values()) / lost, shows=is_held, reason=mark)


def _hops(
    pair: Pair, lost: float, sent: Metric, unit: str, still: Mapping[int, float]
) -> Iterator[Candidate]:
    """`still` is the part, 0 to 1, by block, of its drops that the reference would have had at the cell's offer."""
    for hop in pair.cell.trials.dropped:
        dropped = _dropped(hop, sent)
        before = pair.reference.by_block(dropped)
        more = {
            block: value + (1 - still.get(block, 1.0)) * before[block]
            for block, value in differences(pair, dropped).items()
        }
        if more:
            share, reason = fmean(more.values()) / lost, pair.cell.trials.reason(hop)
            is_room = hop in WAITING_ROOMS
            yield Candidate(CauseKind.DROPPED, more, unit, share, shows=is_room, hop=hop, reason=reason)


def _still_dropped(pair: Pair) -> dict[int, float]:
    offered, flood = pair.cell.by_block(_offered), pair.reference.by_block(_offered)
    carried = pair.reference.by_block(of(RECEIVED))
    return {
        block: min(1.0, max(0.0, offered[block] - carried[block]) / (flood[block] - carried[block]))
        for block in offered.keys() & flood.keys() & carried.keys()
        if flood[block] > carried[block]
    }


def _offered(trials: Trials) -> Column:
    return trials.value("offered_mbps")


def _dropped(hop: str, sent: Metric) -> Metric:
    """What a hop dropped of what was sent."""
    return lambda trials: trials.share_dropped(hop) * sent(trials)
