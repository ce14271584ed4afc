"""How long requests take to be answered over their length, and what a platform adds to the bare hosts' time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import stdev

from msgspec import Struct

from vtax.results import Result
from vtax.results.stored import StoredScenario
from vtax.statistics import paired_difference
from vtax.views.estimate import Estimate, estimate, mean_of_known
from vtax.views.paper import printed_rows
from vtax.views.provenance import Platform
from vtax.views.recorded import Further, Recorded, recorded_cells
from vtax.views.tax import references

_BLOCKS = """
WITH host AS (
    SELECT trial_id, sum(percent) AS percent FROM cpu
    WHERE domain = 'host' AND component = 'total' AND samples IS NULL GROUP BY trial_id
)
SELECT cell, block, avg(latency_mean_ns) AS mean_ns, avg(latency_deviation_ns) AS within_ns,
       avg(latency_p50_ns) AS p50_ns, avg(latency_p90_ns) AS p90_ns, avg(latency_p99_ns) AS p99_ns,
       avg(loss_ratio) AS failed_ratio, avg(transactions / flows.duration_s) AS per_s,
       avg(retransmissions) AS retransmissions, avg(host.percent) AS host_percent
FROM untraced JOIN flows USING (trial_id) LEFT JOIN host USING (trial_id)
WHERE verdict <> 'invalid' AND role = 'victim' GROUP BY ALL ORDER BY block
"""


class _Levels(Struct, frozen=True):
    """What cells differ by."""

    transport: str
    placement: str
    response_bytes: int | None
    requests_per_s: float | None
    guests: int | None
    message_bytes: int


class _Block(Struct, frozen=True):
    """What the trials of a cell in a block tell in the mean."""

    cell: str
    block: int
    mean_ns: float | None
    within_ns: float | None
    p50_ns: float | None
    p90_ns: float | None
    p99_ns: float | None
    failed_ratio: float | None
    per_s: float | None
    retransmissions: float | None
    host_percent: float | None


@dataclass(frozen=True)
class ResponseSetting:
    """What is held fixed while platforms and lengths of requests are compared.

    `response_bytes` is None for answers as long as their requests, `requests_per_s` for a closed loop.
    """

    transport: str
    placement: str
    response_bytes: int | None
    requests_per_s: float | None
    further: Further = ()
    guests: int = 1

    def __lt__(self, other: ResponseSetting) -> bool:
        """By placement and transport; equal answers and closed loops come last."""
        return self._rank < other._rank

    @property
    def label(self) -> str:
        """As a table's caption and a panel's title say it."""
        answers = f"{self.response_bytes}-byte answers" if self.response_bytes else "answers of equal length"
        rate = [f"{self.requests_per_s:g} a second"] if self.requests_per_s else []
        levels = [f"{name} = {value}" for name, value in self.further]
        guests = [f"{self.guests} guests at once"] if self.guests > 1 else []
        return ", ".join([f"{self.transport.upper()} {self.placement}", *guests, answers, *rate, *levels])

    @property
    def _rank(self) -> tuple[str, str, float, float, Further, int]:
        most = float("inf")
        order = {"tcp": "0", "sctp": "1"}.get(self.transport, self.transport)
        rate = self.requests_per_s or most
        return self.placement, order, self.response_bytes or most, rate, self.further, self.guests


@dataclass(frozen=True)
class Responses:
    """The requests of a cell: means over the repetitions of what each tells, None where none tells it.

    `deviation_ns` is the standard deviation of the repetitions' mean times, `within_ns` the mean of that of the times
    within each. `failed_ratio` is of all requests, all times are of those that were answered but the quantiles, which
    take a failed one for later than every other. `retransmissions` are a trial's.
    """

    key: str
    platform: str
    setting: ResponseSetting
    message_bytes: int
    recorded: int
    invalid: int
    suspect: int
    mean_ns: Estimate | None
    deviation_ns: float | None
    within_ns: Estimate | None
    p50_ns: Estimate | None
    p90_ns: Estimate | None
    p99_ns: Estimate | None
    failed_ratio: Estimate | None
    per_s: Estimate | None
    retransmissions: Estimate | None
    host_percent: Estimate | None
    mean_by_block_ns: dict[int, float]

    @property
    def left_out(self) -> float:
        """Share of the cell's recorded trials that are invalid."""
        return self.invalid / self.recorded

    @property
    def is_usable(self) -> bool:
        """Whether it has a trial that can be shown."""
        return self.recorded > self.invalid


@dataclass(frozen=True)
class AddedTime:
    """What a platform's mean response time is longer than its reference's: raw's, or the first emulated platform's."""

    key: str
    platform: str
    reference: str
    setting: ResponseSetting
    message_bytes: int
    added_ns: Estimate


@dataclass(frozen=True)
class PublishedTime:
    """A time as a paper prints it, of its own hardware."""

    placement: str
    quantity: str
    messages: str
    transport: str
    relation: str
    value_ms: str
    setup: str
    hardware: str
    section: str
    source: str


def read_responses(result: Result, platforms: tuple[str, ...]) -> list[Responses]:
    """Every cell that has a recorded trial, usable or not, in the order setting, platform, length."""
    blocks: dict[str, list[_Block]] = {}
    for row in result.read(_BLOCKS, _Block):
        blocks.setdefault(row.cell, []).append(row)
    found = [_responses(row, blocks.get(row.key, [])) for row in recorded_cells(result, _Levels)]
    rank = {name: position for position, name in enumerate(platforms)}
    return sorted(found, key=lambda row: (row.setting, rank[row.platform], row.message_bytes))


def added_times(responses: Sequence[Responses], platforms: Sequence[Platform]) -> list[AddedTime]:
    """A row a cell whose reference was measured in the same blocks, in the order of `responses`."""
    pairs = references(platforms)
    by_place = {(row.platform, row.setting, row.message_bytes): row for row in responses}
    rows = []
    for row in responses:
        reference = pairs.get(row.platform)
        other = by_place.get((reference, row.setting, row.message_bytes)) if reference else None
        if reference is None or other is None:
            continue
        difference = paired_difference(row.mean_by_block_ns, other.mean_by_block_ns)
        if difference is not None:
            left_out = (row.invalid + other.invalid) / (row.recorded + other.recorded)
            added = estimate(difference, left_out)
            rows.append(AddedTime(row.key, row.platform, reference, row.setting, row.message_bytes, added))
    return rows


def published_times(scenario: StoredScenario, measured: Iterable[Responses]) -> list[PublishedTime]:
    """What the scenario's source prints of the placements that were measured, in the file's order."""
    placements = {row.setting.placement for row in measured}
    printed = printed_rows(scenario, "response-time.csv")
    return [PublishedTime(**row) for row in printed if row["placement"] in placements]


def _responses(row: Recorded[_Levels], blocks: Sequence[_Block]) -> Responses:
    def mean(value_of: Callable[[_Block], float | None]) -> Estimate | None:
        return mean_of_known(map(value_of, blocks), row.left_out)

    levels = row.levels
    means = {block.block: block.mean_ns for block in blocks if block.mean_ns is not None}
    return Responses(
        key=row.key,
        platform=row.platform,
        setting=ResponseSetting(
            levels.transport,
            levels.placement,
            levels.response_bytes,
            levels.requests_per_s,
            row.further,
            (levels.guests or 1) if levels.placement == "guest-to-peer" else 1,
        ),
        message_bytes=levels.message_bytes,
        recorded=row.recorded,
        invalid=row.invalid,
        suspect=row.suspect,
        deviation_ns=stdev(means.values()) if len(means) > 1 else None,
        mean_by_block_ns=means,
        mean_ns=mean(lambda block: block.mean_ns),
        within_ns=mean(lambda block: block.within_ns),
        p50_ns=mean(lambda block: block.p50_ns),
        p90_ns=mean(lambda block: block.p90_ns),
        p99_ns=mean(lambda block: block.p99_ns),
        failed_ratio=mean(lambda block: block.failed_ratio),
        per_s=mean(lambda block: block.per_s),
        retransmissions=mean(lambda block: block.retransmissions),
        host_percent=mean(lambda block: block.host_percent),
    )
