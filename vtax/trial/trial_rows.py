"""A trial as a row of `trials`: the columns of any workload."""

from typing import Literal

from vtax.keys.traced import TracedKeys
from vtax.keys.workload import WorkloadKeys
from vtax.results import Row
from vtax.trial.interference import throttled_s, uut_pauses
from vtax.trial.observed import Observed
from vtax.trial.verdict import Judgement

Role = Literal["victim", "neighbour"]


def trial_row(
    measured: Observed,
    judgement: Judgement,
    place: Row,
    phases_s: tuple[float, float],
    *,
    drain_s: float,
    start_spread_ms: float | None,
) -> Row:
    """Return the columns that all trials have; `place` holds those that place it, `phases_s` are warm-up and window."""
    cell, (warmup_s, duration_s) = measured.cell, phases_s
    complete = measured.failure is None
    return {
        **place,
        **cell.factors,
        "trial_id": measured.trial,
        "cell": cell.key,
        "platform": cell.platform,
        "guests": cell.guests,
        "neighbour_maximum_mbps": measured.beside.maximum_mbps,
        "start_spread_ms": start_spread_ms,
        "warmup_s": warmup_s,
        "duration_s": duration_s if complete else None,
        "wall_s": measured.wall_s,
        "overhead_s": measured.wall_s - warmup_s - duration_s - drain_s if complete else None,
        "throttled_s": max(throttled_s(measured).values(), default=0.0) if complete else None,
        **(_pause_columns(measured) if complete else {}),
        "uut_context": judgement.uut_context,
        "verdict": str(judgement.verdict),
        **_traced_columns(cell.workload, judgement),
        "reasons": list(judgement.reasons),
        "started_at": measured.started_at,
    }


def _pause_columns(measured: Observed) -> Row:
    """The columns about pauses of the UUT's CPUs."""
    pauses = uut_pauses(measured)
    return {
        "uut_paused_share": pauses.share if pauses else None,
        "uut_longest_pause_ns": pauses.latest_ns if pauses else None,
    }


def _traced_columns(work: WorkloadKeys, judgement: Judgement) -> Row:
    """The columns `trace` and `marks`: a traced trial is marked."""
    traced = isinstance(work, TracedKeys) and work.is_traced
    return {
        "trace": work.trace if isinstance(work, TracedKeys) else None,
        "marks": [*judgement.marks, *(["traced"] if traced else [])],
    }
