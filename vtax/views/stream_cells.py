"""Usable trials of bulk streams, a cell a row: what every table and figure of them is computed from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from msgspec import Struct

from vtax.model.bound import Limit
from vtax.model.dimensions import load_label
from vtax.model.estimate import Estimate
from vtax.model.reading import recorded_cells
from vtax.model.recorded import Recorded
from vtax.model.sample import Sample
from vtax.model.streams import StreamLevels
from vtax.results import Result, whole
from vtax.statistics import RepeatedInterval, Resolution, repeated_interval

Account = tuple[str, int | None]
"""A domain of the CPU ledger, and the number of the guest where it is one's."""
IDLE: Account = ("idle", None)
_NO_LIMITS: Mapping[int, Limit] = {}

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
SELECT trial_id, sum(percent) AS percent, sum(high - percent) AS step FROM cpu
WHERE domain = 'host' AND component = 'total' AND samples IS NULL GROUP BY trial_id
"""

_LEDGER = """
SELECT trial_id, domain, CASE WHEN domain = 'guest' THEN guest END AS guest, sum(percent) AS percent,
       sum(samples) AS samples FROM cpu
WHERE samples IS NOT NULL GROUP BY ALL ORDER BY domain, guest
"""


class _Usable(Struct, frozen=True):
    """A usable trial."""

    trial_id: int
    cell: str
    block: int
    marks: list[str] | None


class _Flows(Struct, frozen=True):
    """All streams of a guest in a trial."""

    trial_id: int
    guest: int
    goodput_mbps: float
    rtt_ns: float | None
    retransmissions: int | None
    send_buffer_bytes: float | None
    receive_buffer_bytes: float | None


class _HostTime(Struct, frozen=True):
    """The CPU time of a trial's host."""

    trial_id: int
    percent: float
    step: float | None


class _LedgerTime(Struct, frozen=True):
    """What an account of the CPU ledger holds of a trial."""

    trial_id: int
    domain: str
    guest: int | None
    percent: float
    samples: int


@dataclass(frozen=True)
class BulkTrial:
    """What a usable trial measured, by the guests' numbers from 0.

    `rtt_ns` holds none where the transport tells none. `host_percent` is the busy time of the CPUs of host and
    guests (100 = one CPU); `ledger_percent` what each account of the machine had, empty where nothing was sampled.
    Buffers are means over all sockets. `host_step` and `ledger_step` are what a tick, or a sample, is of them.
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
    host_step: float = 0.0
    ledger_step: float = 0.0


Metric = Callable[[BulkTrial], float | None]
"""A number that a trial gives, or None."""


@dataclass(frozen=True)
class StreamCell(Recorded):
    """A cell of the grid with its usable trials. `adaptive` tells that what they showed decided how many there are."""

    guests: int
    trials: tuple[BulkTrial, ...]
    adaptive: bool = False

    def repeated(self, *, total: bool = False) -> RepeatedInterval:
        """Return how intervals over its blocks are taken; of a `total` the mean is kept, whatever stands apart."""
        return repeated_interval(adaptive=self.adaptive, total=total)

    @property
    def is_usable(self) -> bool:
        """Whether it has a trial that can be shown: of a damaged result none may be left."""
        return bool(self.trials)

    def by_block(self, metric: Metric) -> dict[int, float]:
        """{block: value}, ready for pairing: the mean over a block's trials, without those that have none."""
        found: dict[int, list[float]] = {}
        for trial in self.trials:
            if (value := metric(trial)) is not None:
                found.setdefault(trial.block, []).append(value)
        return {block: fmean(values) for block, values in found.items()}

    @property
    def host_resolution(self) -> Resolution:
        """How finely its host's CPU time is known."""
        return Resolution(step=max((trial.host_step for trial in self.trials), default=0.0))

    @property
    def ledger_resolution(self) -> Resolution:
        """How finely the ledger's accounts are known."""
        return Resolution(step=max((trial.ledger_step for trial in self.trials), default=0.0))

    def sample(
        self,
        metric: Metric,
        resolution: Resolution,
        limits: Mapping[int, Limit] = _NO_LIMITS,
        *,
        total: bool = False,
    ) -> Sample | None:
        """Its values by block, with their steps and what bounded them; None where no trial has a value."""
        values = self.by_block(metric)
        if not values:
            return None
        return Sample(
            values=values,
            recorded=self.recorded,
            invalid=self.invalid,
            resolution=resolution,
            repeated=self.repeated(total=total),
            limits=limits,
        )

    def estimate(
        self,
        metric: Metric,
        resolution: Resolution,
        limits: Mapping[int, Limit] = _NO_LIMITS,
        *,
        total: bool = False,
    ) -> Estimate | None:
        """What the blocks come to; None where no trial has a value."""
        sample = self.sample(metric, resolution, limits, total=total)
        return sample.estimate() if sample else None

    def by_guest(
        self,
        metric_of: Callable[[int], Metric],
        resolution: Resolution,
        limits: Mapping[int, Limit] = _NO_LIMITS,
        *,
        total: bool = False,
    ) -> dict[int, Estimate]:
        """The same for each guest of which some trial has a value, by its number."""
        found = {
            guest: self.estimate(metric_of(guest), resolution, limits, total=total)
            for guest in range(self.guests)
        }
        return {guest: estimate for guest, estimate in found.items() if estimate is not None}


def level_label(intended_mbps: float | None, guests: int | None) -> str:
    """What cells of a setting differ by, as a factor's text: the load of frames, the guests of bulk streams."""
    return load_label(intended_mbps) if guests is None else str(guests)


def read_stream_cells(result: Result, platforms: tuple[str, ...] = ()) -> list[StreamCell]:
    """Every cell that has a recorded trial, usable or not, in the order platform, setting, guests."""
    adaptive = result.is_adaptive
    trials = _trials(result)
    cells = [
        StreamCell(
            key=row.key,
            platform=row.platform,
            setting=row.setting,
            guests=whole(row.also["guests"]),
            recorded=row.recorded,
            invalid=row.invalid,
            suspect=row.suspect,
            trials=tuple(trials.get(row.key, ())),
            adaptive=adaptive,
        )
        for row in recorded_cells(result, StreamLevels, also=("guests",))
    ]
    rank = {name: position for position, name in enumerate(platforms)}
    return sorted(cells, key=lambda cell: (rank.get(cell.platform, len(rank)), cell.setting, cell.guests))


def _trials(result: Result) -> dict[str, list[BulkTrial]]:
    flows: dict[int, dict[int, _Flows]] = {}
    for flow in result.read(_FLOWS, _Flows):
        flows.setdefault(flow.trial_id, {})[flow.guest] = flow
    host = {each.trial_id: each for each in result.read(_HOST, _HostTime)}
    ledger: dict[int, dict[Account, _LedgerTime]] = {}
    for each in result.read(_LEDGER, _LedgerTime):
        ledger.setdefault(each.trial_id, {})[each.domain, each.guest] = each
    found: dict[str, list[BulkTrial]] = {}
    for row in result.read(_USABLE, _Usable):
        number = row.trial_id
        if number not in flows:
            continue
        guests = flows[number]
        own = guests.values()
        trial = BulkTrial(
            block=row.block,
            goodput_mbps={guest: flow.goodput_mbps for guest, flow in guests.items()},
            rtt_ns={guest: flow.rtt_ns for guest, flow in guests.items() if flow.rtt_ns is not None},
            host_percent=host[number].percent if number in host else None,
            ledger_percent={whose: each.percent for whose, each in ledger.get(number, {}).items()},
            marks=tuple(row.marks or ()),
            retransmissions=_over(sum, [flow.retransmissions for flow in own]),
            send_buffer_bytes=_over(fmean, [flow.send_buffer_bytes for flow in own]),
            receive_buffer_bytes=_over(fmean, [flow.receive_buffer_bytes for flow in own]),
            host_step=(host[number].step or 0.0) if number in host else 0.0,
            ledger_step=_of_a_sample(ledger.get(number, {}).values()),
        )
        found.setdefault(row.cell, []).append(trial)
    return found


def _of_a_sample(accounts: Iterable[_LedgerTime]) -> float:
    """What a sample of the ledger is in percent of one CPU; 0 of none."""
    found = list(accounts)
    samples = sum(each.samples for each in found)
    return sum(each.percent for each in found) / samples if samples else 0.0


def _over(combine: Callable[[Sequence[float]], float], values: Iterable[float | None]) -> float | None:
    """One number of all guests that tell it; None where none does."""
    told = [float(value) for value in values if value is not None]
    return combine(told) if told else None
