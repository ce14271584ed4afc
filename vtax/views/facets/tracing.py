"""Traced trials of any kind: where in a kernel packets spend their time, and the way of one of them."""

from __future__ import annotations

from dataclasses import dataclass

from vtax.documents.show.published import PublishedMoment, PublishedStage
from vtax.results import Result
from vtax.views.packets import PacketMoment, packet_moments, published_moments
from vtax.views.stages import StageDelay, TracedCell, published_stages, read_traced, stage_delays


@dataclass(frozen=True)
class TracingFacet:
    """Lists follow the order setting, platform; they are empty where nothing was traced."""

    traced: list[TracedCell]
    stages: list[StageDelay]
    published_stages: list[PublishedStage]
    packets: list[PacketMoment]
    published_packets: list[PublishedMoment]


def read_tracing(result: Result, names: tuple[str, ...]) -> TracingFacet:
    """Return everything about stages that the result shows."""
    traced = read_traced(result, names)
    stages, packets = stage_delays(result, traced), packet_moments(result, traced)
    return TracingFacet(
        traced=traced,
        stages=stages,
        published_stages=published_stages(result.scenario, stages),
        packets=packets,
        published_packets=published_moments(result.scenario, packets),
    )
