"""What is shown of requests: how long they take to be answered, how many fail, and what that costs the host."""

from __future__ import annotations

from collections.abc import Sequence

from vtax.model import numbers
from vtax.model.against import Added
from vtax.model.answers import UNANSWERED, unanswered_limits
from vtax.model.bound import Limit
from vtax.model.catalogue import (
    AddedTable,
    Catalogue,
    CellTable,
    Chapter,
    PublishedRows,
    deviation_of,
    mean_of,
)
from vtax.model.cell import Cell, Reading
from vtax.model.dimensions import REQUEST
from vtax.model.levels import Levels
from vtax.model.metric import ONE_IN_A_THOUSAND, Better, Metric
from vtax.model.metrics import CPU, LATENCY_P50, LATENCY_P90, LATENCY_P99, LOSS, RESPONSE_TIME, TRANSACTIONS
from vtax.model.platform import Platform
from vtax.model.published import Printed
from vtax.model.quantity import Quantity
from vtax.model.sentence import Sentence, bracket, left_out_words, listed, sentence_of
from vtax.model.table import Entry, Number

DEVIATION = Metric(
    name="response_deviation",
    column="within_ns",
    sql="avg(latency_deviation_ns)",
    unit="µs",
    better=Better.LOWER,
    form=numbers.microseconds,
    resolution=ONE_IN_A_THOUSAND,
)
"""The standard deviation of the response times within a trial."""
RETRANSMISSIONS = Metric(
    name="retransmissions",
    column="retransmissions",
    sql="avg(retransmissions)",
    unit="segments",
    better=Better.LOWER,
    form=numbers.mbps,
    step_sql="1.0 / count(*)",
)
"""Those of the client in a trial."""


class RequestLevels(Levels, frozen=True):
    """What cells of one setting have in common.

    `response_bytes` is None for answers as long as their requests, `requests_per_s` for a closed loop. `guests` are
    asked at once where their peers ask them.
    """

    transport: str
    placement: str
    response_bytes: int | None
    requests_per_s: float | None
    guests: int | None

    @property
    def asked_at_once(self) -> int:
        """How many guests have a client each."""
        return (self.guests or 1) if self.placement == "guest-to-peer" else 1

    @property
    def phrases(self) -> Sequence[str]:
        """Transport and placement, guests, answers, rate."""
        answers = f"{self.response_bytes}-byte answers" if self.response_bytes else "answers of equal length"
        rate = [f"{self.requests_per_s:g} a second"] if self.requests_per_s else []
        guests = [f"{self.asked_at_once} guests at once"] if self.asked_at_once > 1 else []
        return (f"{self.transport.upper()} {self.placement}", *guests, answers, *rate)

    @property
    def rank(self) -> tuple[str, str, float, float, int]:
        """By placement and transport; equal answers and closed loops come last."""
        most = float("inf")
        order = {"tcp": "0", "sctp": "1"}.get(self.transport, self.transport)
        rate = self.requests_per_s or most
        return self.placement, order, self.response_bytes or most, rate, self.asked_at_once


def answer(platform: Platform, cells: Sequence[Cell], added: Sequence[Added]) -> Sentence:
    """Return the times of the shortest and the longest requests in the first setting that the platform has."""
    first = min(cell.setting for cell in cells)
    here = sorted((cell for cell in cells if cell.setting == first), key=lambda cell: cell.level or 0)
    ends = list({cell.level: cell for cell in (here[0], here[-1])}.values())
    share = max(cell.left_out for cell in ends)
    times = listed([_clause(cell, added) for cell in ends])
    return sentence_of(platform, f"answers {times}, with {first.label}; {left_out_words(share)}.")


def _clause(cell: Cell, added: Sequence[Added]) -> str:
    requests, time = REQUEST.phrase(cell.level), cell.estimate(RESPONSE_TIME)
    if time is None:
        return f"no {requests}"
    form = numbers.microseconds
    text = f"{requests} in {time.bound.words}{form(time.value)} µs {bracket(time, form)}"
    return ", ".join([text, *(_added(row) for row in added if row.cell is cell)])


def _added(row: Added) -> str:
    found, form = row.added, numbers.microseconds
    if found.is_withheld:
        return f"cannot be compared with {row.reference}'s, both {Limit.UNANSWERED.at}"
    if found.has_interval and found.includes(0.0):
        return f"not significantly different from {row.reference} {bracket(found, numbers.signed(form))}"
    size = found if found.value > 0 else found.map(lambda value: -value)
    change = f"{size.bound.words}{form(size.value)} µs {'more' if found.value > 0 else 'less'}"
    return f"{change} than {row.reference} {bracket(found, numbers.signed(form))}"


def _published(quantity: str, *rest: Entry) -> PublishedRows:
    """Return the paper's times of a quantity, a section a figure; `rest` are the columns behind the time."""

    def entries(row: Printed) -> Sequence[Entry]:
        time = " ".join(filter(None, (row["relation"], numbers.microseconds(float(row["value_ms"]) * 1e6))))
        return (row["setup"], row["messages"], Number(time), *rest)

    def is_comparable(row: Printed, cells: Sequence[Cell]) -> bool:
        return row["quantity"] == quantity and any(
            row["placement"] == cell.setting.of(RequestLevels).placement for cell in cells
        )

    def heading(row: Printed) -> str:
        return f"{row['placement']}, {row['transport']}, published ({row['section']}): {row['hardware']}"

    return PublishedRows("response-time.csv", is_comparable, heading, entries)


NOTHING = Number("")

CATALOGUE = Catalogue(
    kind="requests",
    reading=Reading(RequestLevels, REQUEST, asides=(UNANSWERED,), limits=unanswered_limits),
    metrics=(RESPONSE_TIME, LATENCY_P50, LATENCY_P99, TRANSACTIONS, LOSS, CPU),
    shown=(
        *(RESPONSE_TIME, DEVIATION, LATENCY_P50, LATENCY_P90, LATENCY_P99),
        *(LOSS, TRANSACTIONS, RETRANSMISSIONS, CPU),
    ),
    answer=answer,
    tables=(
        CellTable(
            name="responses",
            title="Response times",
            note="Mean over the answered requests, averaged over repetitions; s.d. is the standard deviation of the "
            "repetitions' means. raw is the bare hosts.",
            columns=(mean_of(RESPONSE_TIME, "mean"), deviation_of(RESPONSE_TIME), mean_of(LOSS, "failed")),
            n_of=LOSS,
            chapter=Chapter.NUMBERS,
            published=_published("response time", NOTHING, NOTHING, NOTHING, NOTHING),
        ),
        CellTable(
            name="response-quantiles",
            title="Response times within a repetition",
            note="Means over repetitions. Quantiles are over all requests; a failed one counts as later than any "
            "answered one. The deviation is the standard deviation of the answered requests.",
            columns=(
                mean_of(LATENCY_P50, "p50"),
                mean_of(LATENCY_P90, "p90"),
                mean_of(LATENCY_P99, "p99"),
                mean_of(DEVIATION, "deviation"),
            ),
            n_of=LOSS,
            chapter=Chapter.NUMBERS,
        ),
        CellTable(
            name="response-cpu",
            title="Rate, CPU and retransmissions of requests",
            note="CPU is the busy time of the CPUs of the server's guest and its host, as the kernel counts it; 100 = "
            "one CPU. Retransmissions are those of the client in a trial.",
            columns=(
                mean_of(TRANSACTIONS, "answered"),
                mean_of(CPU, "CPU", "%"),
                mean_of(RETRANSMISSIONS, "retransmissions"),
            ),
            n_of=LOSS,
            chapter=Chapter.LEDGER,
        ),
    ),
    added=(
        AddedTable(
            name="added-times",
            title="Response time added",
            note="Difference of the mean response times, paired within blocks.",
            metric=RESPONSE_TIME,
            published=_published("added to the bare hosts'", NOTHING, NOTHING, ""),
        ),
    ),
    claimed=(Quantity.of("response_time_ns", RESPONSE_TIME),),
    disturbed=RESPONSE_TIME,
)
