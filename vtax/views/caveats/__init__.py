"""What is not to be trusted in a result, and why."""

from __future__ import annotations

from collections.abc import Sequence

from vtax.model.catalogue import Catalogue, Facet
from vtax.model.cell import Cell
from vtax.views.caveats import campaign, limits, trials
from vtax.views.caveats.caveat import Caveat
from vtax.views.efficiency import Efficiency
from vtax.views.goodput import Goodput
from vtax.views.precision import Reached
from vtax.views.provenance import Provenance
from vtax.views.stages import TracedCell
from vtax.views.throughput import Maximum, Throughput
from vtax.views.verdicts import CellVerdict, VerdictCount

__all__ = ["Caveat", "caveats"]


def caveats(
    provenance: Provenance,
    throughput: Sequence[Throughput],
    found: Sequence[Maximum],
    verdicts: Sequence[VerdictCount],
    cells: Sequence[CellVerdict],
    reached: Sequence[Reached],
    streamed: Sequence[Goodput],
    efficiency: Sequence[Efficiency],
    measured: Sequence[Cell],
    catalogue: Catalogue,
    traced: Sequence[TracedCell],
) -> list[Caveat]:
    """Everything that limits what the numbers say, the gravest first."""
    means = (cell.estimate(catalogue.main) for cell in measured if catalogue.facet is not Facet.RUNS)
    rates = [mean for mean in means if mean]
    with_trials = {cell.platform for cell in measured if cell.is_usable}
    return [
        *campaign.incomplete(provenance),
        *campaign.damaged(provenance),
        *campaign.skipped(provenance),
        *trials.unusable(verdicts, cells),
        *campaign.emulated(provenance),
        *campaign.shared_core(provenance),
        *trials.guest_deaths(verdicts),
        *limits.generator_limited(throughput),
        *limits.link_limited(throughput),
        *limits.limit_unknown(throughput),
        *limits.link_full(streamed),
        *limits.far_end_busy(streamed),
        *limits.highest_load_carried(found),
        *limits.traced(traced),
        *([] if provenance.search else trials.few_repetitions(rates)),
        *campaign.adaptive(provenance),
        *trials.wide(reached),
        *campaign.no_reference(provenance, with_trials),
        *trials.no_efficiency(efficiency),
        *trials.suspect(verdicts),
        *trials.left_out(cells),
        *campaign.environment(provenance),
        Caveat(
            "Many comparisons",
            "The intervals are not corrected for multiple comparisons: about one in twenty misses its true value.",
        ),
    ]
