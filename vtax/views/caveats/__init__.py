"""What is not to be trusted in a result, and why."""

from __future__ import annotations

from collections.abc import Sequence

from vtax.model.catalogue import Catalogue, Facet
from vtax.model.cell import Cell
from vtax.views.caveats import campaign, limits, speeds, trials
from vtax.views.caveats.caveat import Caveat
from vtax.views.facets.loads import LoadFacet
from vtax.views.facets.streams import StreamFacet
from vtax.views.facets.tracing import TracingFacet
from vtax.views.precision import Reached
from vtax.views.provenance import Provenance
from vtax.views.verdicts import CellVerdict, VerdictCount

__all__ = ["Caveat", "caveats"]


def caveats(
    provenance: Provenance,
    catalogue: Catalogue,
    measured: Sequence[Cell],
    loads: LoadFacet,
    streams: StreamFacet,
    tracing: TracingFacet,
    reached: Sequence[Reached],
    verdicts: Sequence[VerdictCount],
    cells: Sequence[CellVerdict],
) -> list[Caveat]:
    """Everything that limits what the numbers say, the gravest first."""
    runs = catalogue.facet is Facet.RUNS
    rates = [] if runs else [mean for cell in measured if (mean := cell.estimate(catalogue.main))]
    with_trials = {cell.platform for cell in measured if cell.is_usable}
    return [
        *speeds.drifted(provenance.speeds),
        *campaign.incomplete(provenance),
        *campaign.damaged(provenance),
        *campaign.skipped(provenance),
        *trials.unusable(verdicts, cells),
        *campaign.emulated(provenance),
        *campaign.same_files(provenance),
        *campaign.shared_core(provenance),
        *speeds.shared(provenance.speeds),
        *trials.guest_deaths(verdicts),
        *limits.generator_limited(loads.throughput),
        *limits.link_limited(loads.throughput),
        *limits.limit_unknown(loads.throughput),
        *limits.link_full(streams.goodput),
        *limits.far_end_busy(streams.goodput),
        *limits.highest_load_carried(loads.capacities),
        *limits.traced(tracing.traced),
        *([] if provenance.search else trials.few_repetitions(rates)),
        *([] if provenance.search or runs else trials.apart(catalogue.main, measured)),
        *campaign.adaptive(provenance),
        *trials.wide(reached),
        *campaign.no_reference(provenance, with_trials),
        *trials.no_efficiency(streams.sharing.efficiency),
        *trials.late(loads.percentiles),
        *trials.suspect(verdicts),
        *trials.left_out(cells),
        *campaign.environment(provenance),
        Caveat(
            "Many comparisons",
            "The intervals are not corrected for multiple comparisons: about one in twenty misses its true value.",
        ),
    ]
