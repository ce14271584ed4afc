"""A trial between ends as a row of `trials`, whatever the ends did."""

from typing import Any, Literal

from vtax.campaign.observed import Observed
from vtax.campaign.verdict import Judgement

Role = Literal["victim", "neighbour"]


def trial_row(measured: Observed, judgement: Judgement, place: dict[str, Any]) -> dict[str, Any]:
    """The columns that kinds share; `place` holds those that place the trial."""
    cell, (warmup_s, duration_s) = measured.cell, measured.phases_s
    complete = measured.failure is None
    return {
        **place,
        **cell.factors,
        "trial_id": measured.trial,
        "cell": cell.key,
        "platform": cell.platform,
        "guests": cell.testbed.guests,
        "neighbour_maximum_mbps": measured.beside.maximum_mbps,
        "warmup_s": warmup_s,
        "duration_s": duration_s if complete else None,
        "wall_s": measured.wall_s,
        "overhead_s": measured.wall_s - warmup_s - duration_s if complete else None,
        "verdict": str(judgement.verdict),
        "marks": list(judgement.marks),
        "reasons": list(judgement.reasons),
        "started_at": measured.started_at,
    }
