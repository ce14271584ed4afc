"""What a cell's usable trials tell of a loss: how much came and how late, whose CPU time it was, where frames went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from statistics import fmean
from typing import Any

from vtax.results import Result
from vtax.statistics import MeanInterval, anytime_interval, mean_interval
from vtax.views.cells import load_label
from vtax.views.provenance import FORWARDING, Provenance
from vtax.views.recorded import Recorded, recorded_cells

Account = tuple[str, int | None, str]
"""A domain of the table `cpu`, the guest's number where it is one's, and the component."""
UNNAMED: Account = ("host", None, "not told apart")
"""What the kernel counts for the unit under test beyond its named threads: soft interrupts and other processes."""

UUT_DOMAINS = ("host", "guest", "neighbour", "steal")
"""Whose time is spent on the unit under test's side; all else is the instrument's, or nobody's."""
WAITING_ROOMS = ("link", "switch", "UUT ingress", "bridge port in", "tap queue", "guest ring")
"""Hops whose queues fill where who empties them has too little CPU time."""

LEVELS = (
    "streams",
    "guests",
    "transport",
    "direction",
    "placement",
    "message_bytes",
    "response_bytes",
    "buffer_bytes",
    "loop",
    "requests_per_s",
    "payload_bytes",
    "interval_ms",
    "others",
    "frame_bytes",
    "frame_mix",
    "intended_mbps",
)
"""Columns of `trials` that cells differ by, beside the platform and the campaign's further factors."""

_ATTEMPTS = """
SELECT trial_id, cell, block, verdict, coalesce(uut_context, 'unknown') AS uut_context, marks, reasons
FROM untraced ORDER BY trial_id
"""

_FLOWS = """
SELECT trial_id, sum(offered_mbps) AS offered_mbps, sum(received_mbps) AS received_mbps,
       sum(received_fps) AS received_fps, sum(goodput_mbps) AS goodput_mbps,
       1 - coalesce(sum(frames_lost) / nullif(sum(frames_sent), 0), avg(loss_ratio)) AS delivered_ratio,
       avg(latency_p50_ns) AS latency_p50_ns, avg(latency_mean_ns) AS latency_mean_ns, avg(rtt_ns) AS rtt_ns,
       sum(retransmissions) AS retransmissions, sum(latency_count / duration_s) AS answered_per_s
FROM flows WHERE role = 'victim' GROUP BY trial_id
"""

_CPU = """
SELECT trial_id, domain, guest, component, samples IS NOT NULL AS sampled, sum(percent) AS percent,
       sum(wait_percent) AS wait_percent
FROM cpu WHERE percent IS NOT NULL GROUP BY ALL
"""

_HOPS = """
WITH sent AS (
    SELECT trial_id, sum(received) AS sent FROM hops WHERE hop = 'link' GROUP BY trial_id
)
SELECT trial_id, hop, sum(dropped) / any_value(sent) AS share, mode(reason) FILTER (WHERE dropped > 0) AS reason
FROM hops JOIN sent USING (trial_id) WHERE sent > 0 GROUP BY trial_id, hop
"""


@dataclass(frozen=True)
class Trial:
    """A usable trial. `values` are of its victim's flows together, without what is not known.

    `sampled` is the ledger and `counted` what the kernel counted, percent of one CPU by account, of the unit under
    test's side alone; `waits` is how long named threads were ready and had no CPU. `dropped` is each hop's share of
    the frames that were sent, `reasons` what saw them dropped.
    """

    block: int
    values: Mapping[str, float]
    busy_percent: float | None = None
    sampled: Mapping[Account, float] = field(default_factory=dict)
    counted: Mapping[Account, float] = field(default_factory=dict)
    waits: Mapping[Account, float] = field(default_factory=dict)
    dropped: Mapping[str, float] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def taken_in_fps(self) -> float | None:
        """Frames a second that got beyond the queues before the unit under test's work, dropped later or not."""
        received = self.values.get("received_fps")
        passed = 1 - sum(self.dropped.values())
        if received is None or passed <= 0:
            return None
        return received * (1 - sum(self.dropped.get(hop, 0.0) for hop in WAITING_ROOMS)) / passed


Metric = Callable[[Trial], float | None]
"""A number that a trial gives, or None."""


@dataclass(frozen=True)
class CellEvidence:
    """A cell of the grid in one context, with its usable trials. `levels` are its factors' but the platform.

    `marks` and `remarks` count its usable trials by mark and by kind of reason, `faults` its invalid ones by reason.
    """

    key: str
    platform: str
    emulated: bool
    uut_context: str
    levels: Mapping[str, str]
    recorded: int
    invalid: int
    trials: tuple[Trial, ...]
    marks: Counter[str]
    remarks: Counter[str]
    faults: Counter[str]
    adaptive: bool

    @property
    def mean(self) -> MeanInterval:
        """How intervals of its means are taken."""
        return anytime_interval if self.adaptive else mean_interval

    @property
    def is_sampled(self) -> bool:
        """Whether every trial has a ledger."""
        return all(trial.sampled for trial in self.trials)

    def by_block(self, metric: Metric) -> dict[int, float]:
        """{block: value}, ready for pairing: the mean over a block's trials, without those that have none."""
        found: dict[int, list[float]] = {}
        for trial in self.trials:
            if (value := metric(trial)) is not None:
                found.setdefault(trial.block, []).append(value)
        return {block: fmean(values) for block, values in found.items()}

    def reason(self, hop: str) -> str | None:
        """What most of its trials say saw the hop's drops."""
        told = Counter(trial.reasons[hop] for trial in self.trials if hop in trial.reasons)
        return told.most_common(1)[0][0] if told else None


def read_evidence(result: Result, provenance: Provenance) -> list[CellEvidence]:
    """Every cell with a recorded trial, once for each context of usable ones, in the order platform, levels."""
    told = _told(result)
    attempts: dict[str, list[dict[str, Any]]] = {}
    for row in result.query(_ATTEMPTS).to_pylist():
        attempts.setdefault(row["cell"], []).append(row)
    cells = []
    for cell in recorded_cells(result, *LEVELS):
        rows = attempts[cell.key]
        usable = [row for row in rows if row["verdict"] != "invalid" and row["trial_id"] in told]
        for context in dict.fromkeys(row["uut_context"] for row in usable or rows[:1]):
            own = [row for row in usable if row["uut_context"] == context]
            cells.append(
                CellEvidence(
                    key=cell.key,
                    platform=cell.platform,
                    emulated=provenance.platform(cell.platform).emulated,
                    uut_context=context,
                    levels=_levels(cell, provenance.kind),
                    recorded=cell.recorded,
                    invalid=cell.invalid,
                    trials=tuple(told[row["trial_id"]].trial(row["block"]) for row in own),
                    marks=Counter(mark for row in own for mark in row["marks"] or ()),
                    remarks=Counter(_kind(row["reasons"]) for row in own if row["reasons"]),
                    faults=Counter(_kind(row["reasons"]) for row in rows if row["verdict"] == "invalid"),
                    adaptive=bool(provenance.precision),
                )
            )
    rank = {platform.name: position for position, platform in enumerate(provenance.platforms)}
    return sorted(cells, key=lambda cell: (rank[cell.platform], _order(cell.levels), cell.uut_context))


def _levels(cell: Recorded, kind: str) -> dict[str, str]:
    """Those that a cell has, as text."""
    load = {"intended_mbps": load_label(cell.levels["intended_mbps"])} if kind == FORWARDING else {}
    known = {name: str(level) for name, level in cell.levels.items() if level is not None}
    return {**known, **load, **dict(cell.further)}


def _order(levels: Mapping[str, str]) -> list[tuple[float, str]]:
    """Sorts numbers upwards, and words after them."""
    return [
        (float(level) if level.replace(".", "", 1).isdecimal() else inf, level) for level in levels.values()
    ]


def _kind(reasons: list[str] | None) -> str:
    """What kind the first reason is of: it stands before the trial's own figures."""
    return (reasons or ["no reason is given"])[0].partition(": ")[0]


@dataclass
class _Told:
    """The rows of a trial in the tables `flows`, `cpu` and `hops`."""

    values: dict[str, float]
    cpu: list[dict[str, Any]] = field(default_factory=list)
    hops: list[dict[str, Any]] = field(default_factory=list)

    def trial(self, block: int) -> Trial:
        """What they say."""
        uut = [row for row in self.cpu if row["domain"] in UUT_DOMAINS]
        totals = {row["domain"]: row["percent"] for row in uut if row["component"] == "total"}
        named = [row for row in uut if not row["sampled"] and row["component"] != "total"]
        counted = {_account(row): row["percent"] for row in named}
        if "host" in totals:
            counted[UNNAMED] = max(0.0, totals["host"] - sum(counted.values()))
        if "steal" in totals:
            counted["steal", None, "total"] = totals["steal"]
        return Trial(
            block=block,
            values=self.values,
            busy_percent=sum(totals.values()) if "host" in totals else None,
            sampled={_account(row): row["percent"] for row in uut if row["sampled"]},
            counted=counted,
            waits={_account(row): row["wait_percent"] for row in named if row["wait_percent"] is not None},
            dropped={row["hop"]: row["share"] for row in self.hops if row["share"] is not None},
            reasons={row["hop"]: row["reason"] for row in self.hops if row["reason"]},
        )


def _told(result: Result) -> dict[int, _Told]:
    """By trial, of those that have flows."""
    found = {}
    for row in result.query(_FLOWS).to_pylist():
        number = row.pop("trial_id")
        found[number] = _Told({name: float(value) for name, value in row.items() if value is not None})
    for row in result.query(_CPU).to_pylist():
        if row["trial_id"] in found:
            found[row["trial_id"]].cpu.append(row)
    for row in result.query(_HOPS).to_pylist():
        if row["trial_id"] in found:
            found[row["trial_id"]].hops.append(row)
    return found


def _account(row: dict[str, Any]) -> Account:
    return row["domain"], row["guest"], row["component"]
