"""A trial between ends as a row of `trials`, whatever the ends did."""

from typing import Literal

from vtax.campaign.observed import Observed
from vtax.campaign.verdict import Judgement
from vtax.results import Row
from vtax.scenario.workloads import TracedKeys, WorkloadKeys

Role = Literal["victim", "neighbour"]


def trial_row(measured: Observed, judgement: Judgement, place: Row) -> Row:
    """The columns that kinds share; `place` holds those that place the trial."""
    cell, (warmup_s, duration_s) = measured.cell, measured.phases_s
    complete = measured.failure is None
    return {
        **place,
        **cell.factors,
        "trial_id": measured.trial,
        "cell": cell.key,
        "platform": cell.platform,
        "guests": cell.guests,
        "neighbour_maximum_mbps": measured.beside.maximum_mbps,
        "warmup_s": warmup_s,
        "duration_s": duration_s if complete else None,
        "wall_s": measured.wall_s,
        "overhead_s": measured.wall_s - warmup_s - duration_s if complete else None,
        "verdict": str(judgement.verdict),
        **traced_columns(cell.workload, judgement),
        "reasons": list(judgement.reasons),
        "started_at": measured.started_at,
    }


def traced_columns(work: WorkloadKeys, judgement: Judgement) -> Row:
    """The columns `trace` and `marks`: a traced trial is marked."""
    traced = isinstance(work, TracedKeys) and work.is_traced
    return {
        "trace": work.trace if isinstance(work, TracedKeys) else None,
        "marks": [*judgement.marks, *(["traced"] if traced else [])],
    }
