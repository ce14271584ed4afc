"""All view data of a result, computed once: what the terminal, the report and the JSON document show."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vtax.documents.show.published import (
    PublishedGoodput,
    PublishedMoment,
    PublishedRate,
    PublishedRounds,
    PublishedStage,
    PublishedStress,
    PublishedTraffic,
)
from vtax.model.against import Added
from vtax.model.catalogue import Catalogue, Facet
from vtax.model.cell import Cell
from vtax.model.platform import Platform
from vtax.model.published import Printed
from vtax.model.reading import read_cells
from vtax.model.sentence import Sentence
from vtax.model.streams import stream_levels
from vtax.registry.catalogues import CATALOGUES
from vtax.results import Result
from vtax.views.artifacts import Artifact, round_artifacts
from vtax.views.caveats import Caveat, caveats
from vtax.views.claims import Judged, claims_of
from vtax.views.cpu import CpuUse, cpu_ledger, cpu_use
from vtax.views.delay import DelayPercentile, delay_percentiles, read_delays
from vtax.views.diagnosis import Diagnosis, diagnose
from vtax.views.goodput import goodput_by_guests
from vtax.views.interference import Interference, interference
from vtax.views.losses import Loss, losses
from vtax.views.message_sentences import message_sentences
from vtax.views.messages import MessageGoodput, goodput_by_message, published_goodput
from vtax.views.neighbours import NeighbourLoad, neighbour_loads, published_stress, published_traffic
from vtax.views.packets import PacketMoment, packet_moments, published_moments
from vtax.views.precision import Reached, precision_reached
from vtax.views.provenance import Provenance, read_provenance
from vtax.views.round_sentences import round_sentences
from vtax.views.rounds import Rounds, Runs, published_rounds, read_runs, round_statistics
from vtax.views.routers import RouterRate, published_rates, router_rates
from vtax.views.searches import Found, read_searches
from vtax.views.sentences import Findings, sentences
from vtax.views.sharing import Sharing, sharing
from vtax.views.sharing_sentences import sharing_sentences
from vtax.views.stage_sentences import stage_sentences
from vtax.views.stages import StageDelay, TracedCell, published_stages, read_traced, stage_delays
from vtax.views.stream_cells import read_stream_cells
from vtax.views.tax import LoadCost, MaximumChange, load_costs, maximum_changes
from vtax.views.throughput import Maximum, Throughput, maxima, throughput_by_load
from vtax.views.trials import Trials, read_trials
from vtax.views.verdicts import (
    CellVerdict,
    VerdictCount,
    cell_verdicts,
    traced_verdicts,
    verdict_counts,
    verdict_totals,
)


@dataclass(frozen=True)
class Summary:
    """A result's view data. Lists follow the order platform, setting, load."""

    directory: Path
    provenance: Provenance
    catalogue: Catalogue
    measured: list[Cell]
    added: dict[str, list[Added]]
    published: dict[str, list[Printed]]
    throughput: list[Throughput]
    maxima: list[Maximum]
    percentiles: list[DelayPercentile]
    changes: list[MaximumChange]
    costs: list[LoadCost]
    cpu: list[CpuUse]
    ledger: list[CpuUse]
    losses: list[Loss]
    precision: list[Reached]
    searches: list[Found]
    sharing: Sharing
    messages: list[MessageGoodput]
    published_goodput: list[PublishedGoodput]
    routers: list[RouterRate]
    published_routers: list[PublishedRate]
    traced: list[TracedCell]
    stages: list[StageDelay]
    published_stages: list[PublishedStage]
    packets: list[PacketMoment]
    published_packets: list[PublishedMoment]
    rounds: list[Rounds]
    published_rounds: list[PublishedRounds]
    artifacts: list[Artifact]
    runs: list[Runs]
    interference: list[Interference]
    neighbours: list[NeighbourLoad]
    published_stress: list[PublishedStress]
    published_traffic: list[PublishedTraffic]
    verdict_totals: dict[str, int]
    verdicts: list[VerdictCount]
    cell_verdicts: list[CellVerdict]
    trials: Trials
    sentences: list[Sentence]
    claims: list[Judged]
    diagnosis: Diagnosis
    caveats: list[Caveat]

    @property
    def has_usable(self) -> bool:
        """Whether any trial can be shown."""
        timed: list[Cell | Rounds] = [*self.measured, *self.rounds]
        carried = self.throughput or self.sharing.goodput or self.messages
        return bool(carried or self.stages or any(row.is_usable for row in timed))

    @property
    def platforms(self) -> tuple[Platform, ...]:
        """The campaign's platforms, native first, emulated last."""
        return self.provenance.platforms

    def emulated(self, platform: str) -> bool:
        """Whether that platform belongs to the emulated group."""
        return self.provenance.platform(platform).emulated


def summarise(result: Result, *, with_claims: bool = True) -> Summary:
    """Compute all view data. A campaign that has not measured anything yet gives empty lists and says so.

    Claims take as long as all else where they ask for artifacts; those who do not show them leave them out.
    """
    provenance = read_provenance(result)
    platforms = provenance.platforms
    names = provenance.names
    catalogue = CATALOGUES[provenance.kind]
    facet = catalogue.facet
    measured = read_cells(result, catalogue.reading, catalogue.shown, names)
    cells = measured if facet is Facet.LOADS else []
    stream_cells = read_stream_cells(result, names) if facet is Facet.STREAMS else []
    traced = read_traced(result, names)
    stages, packets = stage_delays(result, traced), packet_moments(result, traced)
    found_runs = read_runs(result, names) if facet is Facet.RUNS else []
    rounds = round_statistics(found_runs, platforms)
    scenario = result.scenario
    testbed = scenario.get("testbed") or {}
    shared = sharing(
        result, [cell for cell in stream_cells if stream_levels(cell.setting).shares_link], platforms
    )
    between = [cell for cell in stream_cells if not stream_levels(cell.setting).shares_link]
    messages = goodput_by_message(between, testbed, platforms)
    streamed = goodput_by_guests(stream_cells, testbed)
    delays = read_delays(result, cells)
    throughput = throughput_by_load(cells)
    # Loads that a search chose for what it saw have no maximum, and none in common with another platform's.
    compared = [] if provenance.search else cells
    found = maxima(compared)
    reached = precision_reached(provenance, throughput, found, streamed)
    searches = read_searches(result, names)
    percentiles = delay_percentiles(delays)
    changes = maximum_changes(found, platforms)
    costs = load_costs(compared, delays, platforms)
    verdicts = verdict_counts(result)
    by_cell = [
        *cell_verdicts(measured),
        *traced_verdicts(traced),
    ]
    found_of_frames = Findings(platforms, throughput, found, percentiles, changes, costs, searches)
    routers = router_rates(result, cells)
    match facet:
        case Facet.LOADS:
            told = sentences(found_of_frames)
        case Facet.STREAMS:
            told = message_sentences(platforms, messages) if between else sharing_sentences(platforms, shared)
        case Facet.RUNS:
            told = round_sentences(platforms, rounds)
        case None:
            told = catalogue.answers(platforms, measured)
    if stages:
        untraced = measured
        told = [*(told if untraced else ()), *stage_sentences(platforms, stages)]
    return Summary(
        directory=result.directory,
        provenance=provenance,
        catalogue=catalogue,
        measured=measured,
        added=catalogue.compared(measured, platforms),
        published=catalogue.published(scenario, measured),
        throughput=throughput,
        maxima=found,
        percentiles=percentiles,
        changes=changes,
        costs=costs,
        cpu=cpu_use(result, cells),
        ledger=cpu_ledger(result, cells),
        losses=losses(result, cells),
        precision=reached,
        searches=searches,
        sharing=shared,
        messages=messages,
        published_goodput=published_goodput(scenario, messages),
        routers=routers,
        published_routers=published_rates(scenario, routers),
        traced=traced,
        stages=stages,
        published_stages=published_stages(scenario, stages),
        packets=packets,
        published_packets=published_moments(scenario, packets),
        rounds=rounds,
        published_rounds=published_rounds(scenario, rounds),
        artifacts=round_artifacts([runs for _, runs in found_runs], platforms),
        runs=[runs for _, runs in found_runs],
        interference=interference(scenario, found, measured, catalogue.disturbed),
        neighbours=neighbour_loads(result, names),
        published_stress=published_stress(scenario),
        published_traffic=published_traffic(scenario),
        verdict_totals=verdict_totals(result),
        verdicts=verdicts,
        cell_verdicts=by_cell,
        trials=read_trials(result, provenance.kind, by_cell),
        sentences=told,
        claims=claims_of(result, provenance) if with_claims else [],
        diagnosis=diagnose(result, provenance),
        caveats=caveats(
            provenance,
            throughput,
            found,
            verdicts,
            by_cell,
            reached,
            streamed,
            shared.efficiency,
            measured,
            catalogue,
            traced,
        ),
    )
