"""All view data of a result, computed once: what the terminal, the report and the JSON document show."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vtax.model.against import Added
from vtax.model.catalogue import Catalogue, Facet
from vtax.model.cell import Cell
from vtax.model.platform import Platform
from vtax.model.published import Printed
from vtax.model.reading import read_cells
from vtax.model.sentence import Sentence
from vtax.registry.catalogues import CATALOGUES
from vtax.results import Result
from vtax.views.caveats import Caveat, caveats
from vtax.views.claims import Judged, claims_of
from vtax.views.diagnosis import Diagnosis, diagnose
from vtax.views.facets.loads import LoadFacet, read_loads
from vtax.views.facets.neighbourhood import NeighbourFacet, read_neighbourhood
from vtax.views.facets.runs import RunFacet, read_all_runs
from vtax.views.facets.streams import StreamFacet, read_streams
from vtax.views.facets.tracing import TracingFacet, read_tracing
from vtax.views.message_sentences import message_sentences
from vtax.views.precision import Reached, precision_reached
from vtax.views.provenance import Provenance, read_provenance
from vtax.views.round_sentences import round_sentences
from vtax.views.rounds import Rounds
from vtax.views.sentences import sentences
from vtax.views.sharing_sentences import sharing_sentences
from vtax.views.stage_sentences import stage_sentences
from vtax.views.stream_cells import read_stream_cells
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
    """A result's view data: what all kinds have, and by facet what some have. Lists go by platform, setting, load."""

    directory: Path
    provenance: Provenance
    catalogue: Catalogue
    measured: list[Cell]
    added: dict[str, list[Added]]
    published: dict[str, list[Printed]]
    loads: LoadFacet
    streams: StreamFacet
    runs: RunFacet
    tracing: TracingFacet
    neighbourhood: NeighbourFacet
    precision: list[Reached]
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
        carried = self.loads.throughput or self.streams.goodput or self.tracing.stages
        timed: list[Cell | Rounds] = [*self.measured, *self.runs.rounds]
        return bool(carried) or any(row.is_usable for row in timed)

    @property
    def facets(self) -> tuple[LoadFacet | StreamFacet | RunFacet | TracingFacet | NeighbourFacet, ...]:
        """All facets; no two have a field of the same name."""
        return self.loads, self.streams, self.runs, self.tracing, self.neighbourhood

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
    platforms, names = provenance.platforms, provenance.names
    catalogue = CATALOGUES[provenance.kind]
    measured = read_cells(result, catalogue.reading, catalogue.shown, names)
    loads, streams, runs = LoadFacet(), StreamFacet(), RunFacet()
    match catalogue.facet:
        case Facet.LOADS:
            loads = read_loads(result, provenance, measured)
            told = sentences(platforms, loads)
        case Facet.STREAMS:
            streams = read_streams(result, read_stream_cells(result, names), platforms)
            if streams.messages:
                told = message_sentences(platforms, streams.messages)
            else:
                told = sharing_sentences(platforms, streams.sharing)
        case Facet.RUNS:
            runs = read_all_runs(result, platforms, names)
            told = round_sentences(platforms, runs.rounds)
        case None:
            told = catalogue.answers(platforms, measured)
    tracing = read_tracing(result, names)
    if tracing.stages:
        told = [*(told if measured else ()), *stage_sentences(platforms, tracing.stages)]
    precision = precision_reached(provenance, loads.throughput, loads.maxima, streams.goodput)
    verdicts = verdict_counts(result)
    by_cell = [*cell_verdicts(measured), *traced_verdicts(tracing.traced)]
    return Summary(
        directory=result.directory,
        provenance=provenance,
        catalogue=catalogue,
        measured=measured,
        added=catalogue.compared(measured, platforms),
        published=catalogue.published(result.scenario, measured),
        loads=loads,
        streams=streams,
        runs=runs,
        tracing=tracing,
        neighbourhood=read_neighbourhood(result, loads.maxima, measured, catalogue.disturbed, names),
        precision=precision,
        verdict_totals=verdict_totals(result),
        verdicts=verdicts,
        cell_verdicts=by_cell,
        trials=read_trials(result, provenance.kind, by_cell),
        sentences=told,
        claims=claims_of(result, provenance) if with_claims else [],
        diagnosis=diagnose(result, provenance),
        caveats=caveats(
            provenance, catalogue, measured, loads, streams, tracing, precision, verdicts, by_cell
        ),
    )
