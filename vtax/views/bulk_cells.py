"""Usable trials of bulk streams, a cell a row: what every table and figure of them is computed from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from vtax.results import Result
from vtax.statistics import MeanInterval, anytime_interval, mean_interval
from vtax.views.bound import Limit
from vtax.views.cells import load_label
from vtax.views.estimate import Estimate
from vtax.views.recorded import Further, recorded_cells
from vtax.views.sample import Sample

Account = tuple[str, int | None]
"""A domain of the CPU ledger, and the number of the guest where it is one's."""
IDLE: Account = ("idle", None)
GUEST_TO_PEER = "guest-to-peer"
"""The placement of guests that share a link; trials of an earlier vtax tell none."""

FAR_END_BUSY = "far-end-busy"
_NO_LIMITS: Mapping[int, Limit] = {}
_LEVELS = ("direction", "transport", "message_bytes", "placement", "buffer_bytes", "guests")

_USABLE = (
    "SELECT trial_id, cell, block, marks FROM trials WHERE verdict <> 'invalid' ORDER BY block, trial_id"
)

_FLOWS = """
SELECT trial_id, guest, coalesce(sum(goodput_mbps), 0) AS goodput_mbps, avg(rtt_ns) AS rtt_ns,
       sum(retransmissions) AS retransmissions, avg(send_buffer_bytes) AS send_buffer_bytes,
       avg(receive_buffer_bytes) AS receive_buffer_bytes
FROM flows WHERE role = 'victim' GROUP BY ALL
"""

_HOST = """
SELECT trial_id, sum(percent) AS percent FROM cpu
WHERE domain = 'host' AND component = 'total' AND samples IS NULL GROUP BY trial_id
"""

_LEDGER = """
SELECT trial_id, domain, CASE WHEN domain = 'guest' THEN guest END AS guest, sum(percent) AS percent FROM cpu
WHERE samples IS NOT NULL GROUP BY ALL ORDER BY domain, guest
"""


@dataclass(frozen=True)
class BulkSetting:
    """What is held fixed while platforms and numbers of guests, or lengths of messages, are compared.

    `buffer_bytes` is None for what the kernels choose.
    """

    direction: str
    transport: str
    message_bytes: int | None = None
    further: Further = ()
    placement: str = GUEST_TO_PEER
    buffer_bytes: int | None = None

    def __lt__(self, other: BulkSetting) -> bool:
        """Shorter messages come first, the transport's default last; the kernels' buffers come first."""
        return self._rank < other._rank

    @property
    def label(self) -> str:
        """As a table's caption and a panel's title say it."""
        place = "" if self.shares_link else f" {self.placement}"
        messages = [f"{self.message_bytes}-byte messages"] if self.message_bytes else []
        buffers = [f"{self.buffer_bytes}-byte buffers"] if self.buffer_bytes else []
        levels = [f"{name} = {value}" for name, value in self.further]
        return ", ".join([f"{self.direction} {self.transport.upper()}{place}", *messages, *buffers, *levels])

    @property
    def shares_link(self) -> bool:
        """Whether guests are behind one link, with a bare peer each; else two ends have a link of their own."""
        return self.placement == GUEST_TO_PEER

    @property
    def without_message(self) -> BulkSetting:
        """What is held fixed while lengths of messages are compared."""
        return replace(self, message_bytes=None)

    @property
    def _rank(self) -> tuple[str, str, str, int, float, tuple[tuple[str, str], ...]]:
        transport = {"tcp": "0", "sctp": "1"}.get(self.transport, self.transport)
        message = self.message_bytes or float("inf")
        return self.direction, self.placement, transport, self.buffer_bytes or 0, message, self.further


@dataclass(frozen=True)
class BulkTrial:
    """What a usable trial measured, by the guests' numbers from 0.

    `rtt_ns` holds none where the transport tells none. `host_percent` is the busy time of the CPUs of host and
    guests (100 = one CPU); `ledger_percent` what each account of the machine had, empty where nothing was sampled.
    Buffers are means over all sockets.
    """

    block: int
    goodput_mbps: Mapping[int, float]
    rtt_ns: Mapping[int, float]
    host_percent: float | None
    ledger_percent: Mapping[Account, float]
    marks: tuple[str, ...] = ()
    retransmissions: float | None = None
    send_buffer_bytes: float | None = None
    receive_buffer_bytes: float | None = None


Metric = Callable[[BulkTrial], float | None]
"""A number that a trial gives, or None."""


@dataclass(frozen=True)
class BulkCell:
    """A cell of the grid with its usable trials. `adaptive` tells that what they showed decided how many there are."""

    key: str
    platform: str
    setting: BulkSetting
    guests: int
    recorded: int
    invalid: int
    suspect: int
    trials: tuple[BulkTrial, ...]
    adaptive: bool = False

    @property
    def mean(self) -> MeanInterval:
        """How intervals of its means are taken."""
        return anytime_interval if self.adaptive else mean_interval

    @property
    def is_usable(self) -> bool:
        """Whether it has a trial that can be shown."""
        return bool(self.trials)

    @property
    def left_out(self) -> float:
        """Share of the cell's recorded trials that are invalid."""
        return self.invalid / self.recorded if self.recorded else 0.0

    def by_block(self, metric: Metric) -> dict[int, float]:
        """{block: value}, ready for pairing: the mean over a block's trials, without those that have none."""
        found: dict[int, list[float]] = {}
        for trial in self.trials:
            if (value := metric(trial)) is not None:
                found.setdefault(trial.block, []).append(value)
        return {block: fmean(values) for block, values in found.items()}

    def sample(self, metric: Metric, limits: Mapping[int, Limit] = _NO_LIMITS) -> Sample | None:
        """Its values by block, with what bounded them; None where no trial has a value."""
        values = self.by_block(metric)
        if not values:
            return None
        return Sample(
            values=values, recorded=self.recorded, invalid=self.invalid, mean=self.mean, limits=limits
        )

    def estimate(self, metric: Metric, limits: Mapping[int, Limit] = _NO_LIMITS) -> Estimate | None:
        """The mean over the blocks; None where no trial has a value."""
        sample = self.sample(metric, limits)
        return sample.estimate() if sample else None

    def by_guest(
        self, metric_of: Callable[[int], Metric], limits: Mapping[int, Limit] = _NO_LIMITS
    ) -> dict[int, Estimate]:
        """The same for each guest of which some trial has a value, by its number."""
        found = {guest: self.estimate(metric_of(guest), limits) for guest in range(self.guests)}
        return {guest: estimate for guest, estimate in found.items() if estimate is not None}


def level_label(intended_mbps: float | None, guests: int | None) -> str:
    """What cells of a setting differ by, as a factor's text: the load of frames, the guests of bulk streams."""
    return load_label(intended_mbps) if guests is None else str(guests)


def guests_phrase(guests: int) -> str:
    """The number in a sentence."""
    return f"{guests} guest{'s' if guests > 1 else ''}"


def read_bulk_cells(result: Result, platforms: tuple[str, ...] = ()) -> list[BulkCell]:
    """Every cell that has a recorded trial, usable or not, in the order platform, setting, guests."""
    adaptive = bool((result.campaign.get("scenario") or {}).get("precision"))
    trials = _trials(result)
    cells = [
        BulkCell(
            key=row.key,
            platform=row.platform,
            setting=BulkSetting(
                row.levels["direction"],
                row.levels["transport"],
                row.levels["message_bytes"],
                row.further,
                row.levels["placement"] or GUEST_TO_PEER,
                row.levels["buffer_bytes"],
            ),
            guests=row.levels["guests"],
            recorded=row.recorded,
            invalid=row.invalid,
            suspect=row.suspect,
            trials=tuple(trials.get(row.key, ())),
            adaptive=adaptive,
        )
        for row in recorded_cells(result, *_LEVELS)
    ]
    rank = {name: position for position, name in enumerate(platforms)}
    return sorted(cells, key=lambda cell: (rank.get(cell.platform, len(rank)), cell.setting, cell.guests))


def _trials(result: Result) -> dict[str, list[BulkTrial]]:
    flows: dict[int, dict[int, dict[str, Any]]] = {}
    for row in result.rows(_FLOWS):
        flows.setdefault(row["trial_id"], {})[row["guest"]] = row
    host = {row["trial_id"]: row["percent"] for row in result.rows(_HOST)}
    ledger: dict[int, dict[Account, float]] = {}
    for row in result.rows(_LEDGER):
        ledger.setdefault(row["trial_id"], {})[row["domain"], row["guest"]] = row["percent"]
    found: dict[str, list[BulkTrial]] = {}
    for row in result.rows(_USABLE):
        number = row["trial_id"]
        if number not in flows:
            continue
        guests = flows[number]
        trial = BulkTrial(
            block=row["block"],
            goodput_mbps={guest: flow["goodput_mbps"] for guest, flow in guests.items()},
            rtt_ns={guest: flow["rtt_ns"] for guest, flow in guests.items() if flow["rtt_ns"] is not None},
            host_percent=host.get(number),
            ledger_percent=ledger.get(number, {}),
            marks=tuple(row["marks"] or ()),
            retransmissions=_over(sum, guests, "retransmissions"),
            send_buffer_bytes=_over(fmean, guests, "send_buffer_bytes"),
            receive_buffer_bytes=_over(fmean, guests, "receive_buffer_bytes"),
        )
        found.setdefault(row["cell"], []).append(trial)
    return found


def _over(
    combine: Callable[[Sequence[float]], float], guests: Mapping[int, dict[str, Any]], name: str
) -> float | None:
    """One number of all guests that tell it; None where none does."""
    told = [float(flow[name]) for flow in guests.values() if flow[name] is not None]
    return combine(told) if told else None
