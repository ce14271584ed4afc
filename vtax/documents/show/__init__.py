"""The document of `vtax show`: every number that tables and figures have, by cell."""

from __future__ import annotations

from typing import Literal

from vtax.documents.base import Count, Document
from vtax.documents.claims import Claim
from vtax.documents.diagnosis import DiagnosedCells
from vtax.documents.show.cells import Added, Cell
from vtax.documents.show.loads import (
    Capacity,
    CapacityChange,
    CpuUse,
    DelayPercentile,
    HopLoss,
    LoadCost,
    Maximum,
    Reached,
    RouterRate,
    SearchGoal,
    Throughput,
)
from vtax.documents.show.neighbours import Interference, NeighbourLoad
from vtax.documents.show.origin import Caveat, CellVerdict, Provenance, Sentence, VerdictCount
from vtax.documents.show.published import (
    PublishedGoodput,
    PublishedMoment,
    PublishedRate,
    PublishedRounds,
    PublishedStage,
    PublishedStress,
    PublishedTraffic,
)
from vtax.documents.show.runs import Artifact, Rounds
from vtax.documents.show.stages import PacketMoment, StageDelay, TracedCell
from vtax.documents.show.streams import MessageGoodput, Sharing


class Show(Document):
    """All numbers of a result that tables and figures have."""

    format_version: Literal[5] = 5
    """Version of the document's form."""
    provenance: Provenance
    """Description and progress of the campaign."""
    published: dict[str, list[dict[str, str]]]
    """Rows that the repeated paper prints, by table, as their CSV file has them."""
    throughput: list[Throughput]
    """Throughput by load."""
    capacities: list[Capacity]
    """Throughput within the loss goals PDR and NDR."""
    maxima: list[Maximum]
    """Largest throughput over the loads, whatever was lost."""
    percentiles: list[DelayPercentile]
    """One-way delay by load."""
    changes: list[CapacityChange]
    """PDR against the reference."""
    costs: list[LoadCost]
    """Added delay and CPU time by load."""
    cpu: list[CpuUse]
    """CPU time by load and component."""
    ledger: list[CpuUse]
    """The CPU ledger by load."""
    losses: list[HopLoss]
    """Lost frames by load and hop."""
    precision: list[Reached]
    """Intervals that were to become narrow."""
    searches: list[SearchGoal]
    """Goals of searches."""
    sharing: Sharing
    """Guests that share a link and a host."""
    messages: list[MessageGoodput]
    """Goodput by the length of messages."""
    published_goodput: list[PublishedGoodput]
    """The same in the repeated paper."""
    routers: list[RouterRate]
    """Rates of routers behind one uplink."""
    published_routers: list[PublishedRate]
    """The same in the repeated paper."""
    traced: list[TracedCell]
    """Traced trials by cell."""
    stages: list[StageDelay]
    """Delay by stage."""
    published_stages: list[PublishedStage]
    """The same in the repeated paper."""
    packets: list[PacketMoment]
    """Followed packets, hook by hook."""
    published_packets: list[PublishedMoment]
    """The same in the repeated paper."""
    rounds: list[Rounds]
    """Rounds of runs by cell."""
    published_rounds: list[PublishedRounds]
    """The same in the repeated paper."""
    artifacts: list[Artifact]
    """Timing artifacts by cell."""
    interference: list[Interference]
    """Effects of neighbours on the guest."""
    neighbours: list[NeighbourLoad]
    """Traffic of the neighbours."""
    published_stress: list[PublishedStress]
    """Effects of neighbours' load in the repeated paper."""
    published_traffic: list[PublishedTraffic]
    """Neighbours' traffic in the repeated paper."""
    verdict_totals: dict[str, Count]
    """Trials by verdict."""
    verdicts: list[VerdictCount]
    """Trials by platform, verdict and reason."""
    cell_verdicts: list[CellVerdict]
    """Trials by cell and verdict."""
    sentences: list[Sentence]
    """The answer, a sentence a platform."""
    diagnosis: DiagnosedCells
    """Losses and their causes, as `vtax diagnose` has them."""
    caveats: list[Caveat]
    """Limits of the numbers, the gravest first."""
    cells: list[Cell]
    """Cells with their metrics."""
    added: dict[str, list[Added]]
    """Differences between cells and their references, by table."""
    claims: list[Claim]
    """Claims of the repeated paper, as `vtax claims` has them."""
