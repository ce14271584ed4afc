"""What usable trials tell of a loss, in columns: how much came how late, whose CPU time it was, where frames went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vtax.results import Result, Value, text, whole

Name = TypeVar("Name")

Account = tuple[str, int | None, str]
"""A domain of the table `cpu`, the guest's number where it is one's, and the component."""
UNNAMED: Account = ("host", None, "not separated")
"""What the kernel counts for the unit under test beyond its named threads: soft interrupts and other processes."""

WAITING_ROOMS = (
    *("link", "switch", "UUT ingress", "bridge port in", "routed port in", "ovs port in", "macvtap port in"),
    *("tap queue", "guest ring"),
)
"""Hops whose queues fill where who empties them has too little CPU time."""

Column = NDArray[np.float64]
"""A number of each trial, of shape (trials,); NaN where it is not known."""
Metric = Callable[["Trials"], Column]
"""A number that trials give."""

_FLOWS = """
SELECT trial_id, sum(offered_mbps) AS offered_mbps, sum(received_mbps) AS received_mbps,
       sum(received_fps) AS received_fps, sum(goodput_mbps) AS goodput_mbps,
       1 - coalesce(sum(frames_lost) / nullif(sum(frames_sent), 0), avg(loss_ratio)) AS delivered_ratio,
       avg(latency_p50_ns) FILTER (exact) AS latency_p50_ns, avg(latency_mean_ns) FILTER (exact) AS latency_mean_ns,
       avg(rtt_ns) AS rtt_ns,
       sum(retransmissions) AS retransmissions, sum(latency_count / duration_s) AS answered_per_s
FROM (SELECT *, coalesce(clock_error_ns, 0) = 0 AS exact FROM flows)
WHERE role = 'victim' GROUP BY trial_id ORDER BY trial_id
"""  # delays by clocks that differ are none to find causes by

_CPU = """
SELECT trial_id, domain, guest, component, samples IS NOT NULL AS sampled, sum(percent) AS percent,
       sum(wait_percent) AS wait_percent
FROM cpu WHERE percent IS NOT NULL AND domain IN ('host', 'guest', 'neighbour', 'steal') GROUP BY ALL
"""  # on the unit under test's side; all else is the instrument's time, or nobody's

_HOPS = """
WITH sent AS (
    SELECT trial_id, sum(received) AS sent FROM hops WHERE hop = 'link' GROUP BY trial_id
)
SELECT trial_id, hop, sum(dropped) / any_value(sent) AS share, mode(reason) FILTER (WHERE dropped > 0) AS reason
FROM hops JOIN sent USING (trial_id) WHERE sent > 0 GROUP BY trial_id, hop
"""


@dataclass(frozen=True, eq=False)
class Trials:
    """Usable trials, a place each in every column. `values` are of a trial's victim's flows together.

    `sampled` is the ledger and `counted` what the kernel counted, percent of one CPU by account, of the unit under
    test's side alone; `waits` is how long named threads were ready and had no CPU. `dropped` is each hop's share of
    the frames that were sent, `reasons` by trial what saw them dropped, None where nothing did.
    """

    block: NDArray[np.int32]
    values: Mapping[str, Column]
    busy_percent: Column
    sampled: Mapping[Account, Column]
    counted: Mapping[Account, Column]
    waits: Mapping[Account, Column]
    dropped: Mapping[str, Column]
    reasons: Mapping[str, NDArray[np.object_]]

    def __len__(self) -> int:
        """How many trials."""
        return len(self.block)

    def value(self, name: str) -> Column:
        """One of `values`, or nothing known."""
        return self.values.get(name, np.full(len(self), np.nan))

    def percent(self, table: Mapping[Account, Column], account: Account) -> Column:
        """What an account had; nothing where a trial's table has others only, unknown where it has none."""
        found = np.nan_to_num(table[account]) if account in table else np.zeros(len(self))
        told = np.zeros(len(self), bool)
        for column in table.values():
            told |= ~np.isnan(column)
        return np.where(told, found, np.nan)

    def share_dropped(self, hop: str) -> Column:
        """Of the frames sent; nothing where it is no hop of a trial's."""
        return np.nan_to_num(self.dropped[hop]) if hop in self.dropped else np.zeros(len(self))

    @property
    def is_sampled(self) -> bool:
        """Whether every trial has a ledger."""
        told = [~np.isnan(column) for column in self.sampled.values()]
        return not len(self) or bool(told and np.any(told, axis=0).all())

    @property
    def taken_in_fps(self) -> Column:
        """Frames a second that got beyond the queues before the unit under test's work, dropped later or not."""
        passed = 1 - _together(self.dropped.values(), len(self))
        waiting = _together((self.share_dropped(hop) for hop in WAITING_ROOMS), len(self))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(passed > 0, self.value("received_fps") * (1 - waiting) / passed, np.nan)

    def reason(self, hop: str) -> str | None:
        """What most trials say saw the hop's drops."""
        told = Counter(reason for reason in self.reasons.get(hop, ()) if reason)
        return told.most_common(1)[0][0] if told else None


class TrialTable:
    """The trials of a result that have flows, by their ids: what `flows`, `cpu` and `hops` say of them."""

    def __init__(self, result: Result) -> None:
        flows = result.columns(_FLOWS)
        self.ids: NDArray[np.int64] = flows["trial_id"].to_numpy()
        self._values = {name: _floats(flows[name]) for name in flows.schema.names if name != "trial_id"}
        self._sampled: dict[Account, Column] = {}
        self._counted: dict[Account, Column] = {}
        self._waits: dict[Account, Column] = {}
        self._totals: dict[str, Column] = {}
        self._read_cpu(result.columns(_CPU))
        self._dropped: dict[str, Column] = {}
        self._reasons: dict[str, NDArray[np.object_]] = {}
        hops = result.columns(_HOPS)
        for named, rows in _parts(hops, ["hop"]):
            hop = text(named["hop"])
            self._dropped[hop] = self._column(rows, "share")
            reasons = np.full(len(self.ids), None, dtype=object)
            at, known = self._places(rows)
            reasons[at] = np.array(rows["reason"].to_pylist(), dtype=object)[known]
            self._reasons[hop] = reasons

    def of(self, trial_ids: NDArray[np.int64], blocks: NDArray[np.int32]) -> Trials:
        """Those trials, which have flows, of those blocks."""
        at = np.searchsorted(self.ids, trial_ids)

        def known(columns: Mapping[Name, Column]) -> dict[Name, Column]:
            own = {name: column[at] for name, column in columns.items()}
            return {name: column for name, column in own.items() if not np.isnan(column).all()}

        sampled, counted, waits = known(self._sampled), known(self._counted), known(self._waits)
        totals = known(self._totals)
        busy_percent = np.full(len(at), np.nan)
        if "host" in totals:
            has_total = ~np.isnan(totals["host"])
            busy_percent[has_total] = _together(totals.values(), len(at))[has_total]
            named = _together(counted.values(), len(at))
            counted[UNNAMED] = np.maximum(0.0, totals["host"] - named)
        if "steal" in totals:
            counted["steal", None, "total"] = totals["steal"]
        dropped = known(self._dropped)
        reasons = {hop: self._reasons[hop][at] for hop in dropped}
        return Trials(blocks, known(self._values), busy_percent, sampled, counted, waits, dropped, reasons)

    def _read_cpu(self, cpu: pa.Table) -> None:
        for named, rows in _parts(cpu, ["domain", "guest", "component", "sampled"]):
            domain, guest, component = text(named["domain"]), named["guest"], text(named["component"])
            account = domain, None if guest is None else whole(guest), component
            percent = self._column(rows, "percent")
            if named["sampled"]:
                self._sampled[account] = percent
            elif component == "total":
                before = self._totals.get(domain, np.full(len(self.ids), np.nan))
                both = np.nan_to_num(before) + np.nan_to_num(percent)
                self._totals[domain] = np.where(np.isnan(before) & np.isnan(percent), np.nan, both)
            else:
                self._counted[account] = percent
                self._waits[account] = self._column(rows, "wait_percent")

    def _column(self, rows: pa.Table, name: str) -> Column:
        column = np.full(len(self.ids), np.nan)
        at, known = self._places(rows)
        column[at] = _floats(rows[name])[known]
        return column

    def _places(self, rows: pa.Table) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Where the trials of rows are among all, and which rows are of a trial that has flows."""
        trials = rows["trial_id"].to_numpy()
        known = np.isin(trials, self.ids)
        return np.searchsorted(self.ids, trials[known]), known


def _parts(rows: pa.Table, names: list[str]) -> list[tuple[dict[str, Value], pa.Table]]:
    """The rows by what these columns hold, in its order."""
    found = rows.group_by(names).aggregate([]).sort_by([(name, "ascending") for name in names]).to_pylist()
    parts = []
    for each in found:
        own = [
            pc.is_null(rows[name]) if value is None else pc.fill_null(pc.equal(rows[name], value), False)
            for name, value in each.items()
        ]
        mask = own[0]
        for further in own[1:]:
            mask = pc.and_(mask, further)
        parts.append((each, rows.filter(mask)))
    return parts


def _together(columns: Iterable[Column], trials: int) -> Column:
    """Their sum, of what is known."""
    return sum((np.nan_to_num(column) for column in columns), np.zeros(trials))


def _floats(column: pa.ChunkedArray) -> Column:
    return np.asarray(pc.cast(column, pa.float64()).to_numpy(), dtype=float)
