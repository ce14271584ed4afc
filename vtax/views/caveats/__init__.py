"""What is not to be trusted in a result, and why."""

from __future__ import annotations

from collections.abc import Sequence

from vtax.views.caveats import campaign, limits, trials
from vtax.views.caveats.caveat import Caveat
from vtax.views.echoes import Echoes
from vtax.views.efficiency import Efficiency
from vtax.views.goodput import Goodput
from vtax.views.precision import Reached
from vtax.views.provenance import Provenance
from vtax.views.responses import Responses
from vtax.views.rounds import Rounds
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
    timed: Sequence[Echoes | Responses | Rounds],
    traced: Sequence[TracedCell],
) -> list[Caveat]:
    """Everything that limits what the numbers say, the gravest first."""
    rates = [
        *(row.received_mbps for row in throughput),
        *(row.aggregate_mbps for row in streamed),
        *(row.mean_ns for row in timed if row.mean_ns is not None),
    ]
    measured = {
        *(row.platform for row in throughput),
        *(row.platform for row in streamed),
        *(row.platform for row in timed if row.is_usable),
    }
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
        *campaign.no_reference(provenance, measured),
        *trials.no_efficiency(efficiency),
        *trials.suspect(verdicts),
        *trials.left_out(cells),
        *campaign.environment(provenance),
        Caveat(
            "Many comparisons",
            "The intervals are not corrected for multiple comparisons: about one in twenty misses its true value.",
        ),
    ]
