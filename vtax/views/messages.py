"""Goodput of a stream between two ends over the length of its messages, beside that of a reference platform."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import stdev

from pydantic import JsonValue

from vtax.documents.show.published import PublishedGoodput
from vtax.model.estimate import Estimate
from vtax.model.levels import Setting
from vtax.model.platform import Platform, references
from vtax.model.published import printed_rows
from vtax.model.streams import link_goodput_mbps, stream_levels, without_message
from vtax.results.stored import StoredScenario
from vtax.statistics import COUNTED
from vtax.views.goodput import aggregate_sample
from vtax.views.stream_cells import StreamCell


@dataclass(frozen=True)
class MessageGoodput:
    """Means over the repetitions of a cell, None where no trial tells.

    `message_bytes` is None for the transport's default. `deviation_mbps` is the standard deviation of the repetitions.
    `link_mbps` is what the link can carry and `of_link` the share of it; `ratio` is to the goodput of the `reference`,
    raw or the first emulated platform, in the same blocks. Buffers are those in force, with the kernels' bookkeeping.
    """

    key: str
    platform: str
    setting: Setting
    message_bytes: int | None
    goodput_mbps: Estimate
    deviation_mbps: float | None
    link_mbps: float | None
    of_link: Estimate | None
    reference: str | None
    ratio: Estimate | None
    retransmissions: Estimate | None
    send_buffer_bytes: Estimate | None
    receive_buffer_bytes: Estimate | None
    host_percent: Estimate | None


def goodput_by_message(
    cells: Sequence[StreamCell], testbed: Mapping[str, JsonValue], platforms: Sequence[Platform]
) -> list[MessageGoodput]:
    """A row a cell with usable trials, in the order of `cells`; `testbed` as link_goodput_mbps takes it."""
    pairs = references(platforms)
    by_place = {(cell.platform, cell.setting): cell for cell in cells}
    rows = []
    for cell in cells:
        reference = pairs.get(cell.platform)
        other = by_place.get((reference, cell.setting)) if reference else None
        row = _row(cell, reference, other, testbed)
        if row is not None:
            rows.append(row)
    return rows


def published_goodput(scenario: StoredScenario, rows: Iterable[MessageGoodput]) -> list[PublishedGoodput]:
    """What the scenario's source says of the placements that were measured, in the file's order."""
    placements = {stream_levels(row.setting).placed for row in rows}
    printed = printed_rows(scenario, "throughput.csv")
    return [PublishedGoodput(**row) for row in printed if row["placement"] in placements]


def _row(
    cell: StreamCell, reference: str | None, other: StreamCell | None, testbed: Mapping[str, JsonValue]
) -> MessageGoodput | None:
    sample = aggregate_sample(cell, testbed)
    if sample is None:
        return None
    goodput, link_mbps = sample.estimate(), link_goodput_mbps(cell.setting, testbed)
    beside = aggregate_sample(other, testbed) if other else None
    repetitions = list(sample.values.values())
    return MessageGoodput(
        key=cell.key,
        platform=cell.platform,
        setting=without_message(cell.setting),
        message_bytes=stream_levels(cell.setting).message_bytes,
        goodput_mbps=goodput,
        deviation_mbps=stdev(repetitions) if len(repetitions) > 1 else None,
        link_mbps=link_mbps,
        of_link=goodput.map(lambda mbps: mbps / link_mbps) if link_mbps else None,
        reference=reference,
        ratio=sample.ratio(beside) if beside else None,
        retransmissions=cell.estimate(lambda trial: trial.retransmissions, COUNTED, total=True),
        send_buffer_bytes=cell.estimate(lambda trial: trial.send_buffer_bytes, COUNTED),
        receive_buffer_bytes=cell.estimate(lambda trial: trial.receive_buffer_bytes, COUNTED),
        host_percent=cell.estimate(lambda trial: trial.host_percent, cell.host_resolution, total=True),
    )
