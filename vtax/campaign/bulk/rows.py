"""A trial of bulk streams as rows of the result's tables."""

from typing import Any

from vtax.campaign.bulk.trial import Flows, Streamed
from vtax.campaign.cpu_rows import counted_rows, ledger_rows
from vtax.campaign.verdict import Judgement
from vtax.results import TrialRecord

STEP_S = 0.1


def record(
    measured: Streamed, judgement: Judgement, place: dict[str, Any], environment: dict[str, Any]
) -> TrialRecord:
    """All rows of a trial. `place` holds the columns of `trials` that place it."""
    work = measured.work
    complete = measured.failure is None
    trial = {
        **place,
        **measured.cell.factors,
        "trial_id": measured.trial,
        "cell": measured.cell.key,
        "platform": measured.cell.platform,
        "guests": measured.cell.testbed.guests,
        "transport": work.transport,
        "direction": work.direction,
        "message_bytes": work.message_bytes,
        "start_spread_ms": measured.start_spread_ms if complete else None,
        "warmup_s": work.warmup_s,
        "duration_s": work.duration_s if complete else None,
        "wall_s": measured.wall_s,
        "overhead_s": measured.wall_s - work.warmup_s - work.duration_s if complete else None,
        "verdict": str(judgement.verdict),
        "marks": list(judgement.marks),
        "reasons": list(judgement.reasons),
        "started_at": measured.started_at,
    }
    surroundings = [{"trial_id": measured.trial, **environment}]
    if not complete:
        return TrialRecord(trial=trial, environment=surroundings)
    return TrialRecord(
        trial=trial,
        flows=[row for guest, flows in enumerate(measured.flows) for row in _flows(measured, guest, flows)],
        series=[
            {
                "trial_id": measured.trial,
                "role": "victim",
                "guest": guest,
                "stream": stream,
                "step": step,
                "goodput_mbps": count * 8 / STEP_S / 1e6,
            }
            for guest, flows in enumerate(measured.flows)
            for stream, counts in enumerate(flows.series)
            for step, count in enumerate(counts)
        ],
        cpu=[*counted_rows(measured), *ledger_rows(measured, environment)],
        environment=surroundings,
    )


def headline(measured: Streamed) -> str:
    """A trial's last number for whoever watches."""
    if measured.failure is not None:
        return measured.failure.splitlines()[0]
    rates = [sum(flow["goodput_mbps"] for flow in flows.came["flows"]) for flows in measured.flows]
    each = "" if len(rates) == 1 else f", {min(rates):.1f} to {max(rates):.1f} a guest"
    return f"goodput {sum(rates):.1f} Mbit/s{each}"


def _flows(measured: Streamed, guest: int, flows: Flows) -> list[dict[str, Any]]:
    work = measured.work
    window_s = work.duration_s
    rows = []
    for sent, came in zip(flows.sent, flows.came["flows"], strict=True):
        tcp = sent["tcp"] or {}
        lost = came["lost"]
        rows.append(
            {
                "trial_id": measured.trial,
                "role": "victim",
                "guest": guest,
                "stream": came["flow"],
                "intended_mbps": None,
                "goodput_mbps": came["goodput_mbps"],
                "offered_goodput_mbps": sent["bytes"] * 8 / window_s / 1e6,
                "messages_sent": sent["messages"],
                "messages_received": came["messages"],
                "loss_ratio": lost / sent["messages"] if lost is not None and sent["messages"] else None,
                "send_errors": sum(sent["send_errors"].values()),
                "retransmissions": tcp.get("retransmissions"),
                "rtt_ns": tcp["rtt_us"] * 1000 if tcp else None,
                "duration_s": window_s,
            }
        )
    return rows
