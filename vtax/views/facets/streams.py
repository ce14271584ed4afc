"""Bulk streams: what guests get of a link that they share, or two ends of one another by the length of messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vtax.documents.show.published import PublishedGoodput
from vtax.model.platform import Platform
from vtax.model.streams import stream_levels
from vtax.results import Result
from vtax.views.goodput import Goodput, goodput_by_guests
from vtax.views.messages import MessageGoodput, goodput_by_message, published_goodput
from vtax.views.sharing import Sharing, sharing
from vtax.views.stream_cells import StreamCell


@dataclass(frozen=True)
class StreamFacet:
    """Lists follow the order platform, setting, guests; they are empty for kinds without streams.

    `goodput` has a row a cell with usable trials, whether its guests share a link or not.
    """

    goodput: list[Goodput] = field(default_factory=list)
    sharing: Sharing = field(default_factory=Sharing)
    messages: list[MessageGoodput] = field(default_factory=list)
    published_goodput: list[PublishedGoodput] = field(default_factory=list)


def read_streams(result: Result, cells: Sequence[StreamCell], platforms: Sequence[Platform]) -> StreamFacet:
    """Return everything about streams that the cells show."""
    testbed = result.scenario.get("testbed") or {}
    goodput = goodput_by_guests(cells, testbed)
    shared = [cell for cell in cells if stream_levels(cell.setting).shares_link]
    between = [cell for cell in cells if not stream_levels(cell.setting).shares_link]
    messages = goodput_by_message(between, testbed, platforms)
    return StreamFacet(
        goodput=goodput,
        sharing=sharing(result, shared, goodput, platforms),
        messages=messages,
        published_goodput=published_goodput(result.scenario, messages),
    )
