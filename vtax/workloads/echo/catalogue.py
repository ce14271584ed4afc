"""What is shown of echoes: the round trip through one router, what was lost, and what the others forwarded."""

from __future__ import annotations

from collections.abc import Sequence

from vtax.model import numbers
from vtax.model.against import Added
from vtax.model.answers import UNANSWERED, unanswered_limits
from vtax.model.catalogue import Catalogue, CellTable, Chapter, PublishedRows, mean_of
from vtax.model.cell import Cell, Reading
from vtax.model.dimensions import GUESTS, guests_phrase
from vtax.model.levels import Levels
from vtax.model.metric import NEIGHBOURS, ONE_IN_A_THOUSAND, Better, Metric
from vtax.model.metrics import LOSS, RESPONSE_TIME
from vtax.model.platform import Platform
from vtax.model.published import Printed
from vtax.model.quantity import Quantity
from vtax.model.sentence import Sentence, bracket, left_out_words, listed, sentence_of
from vtax.model.table import Entry, Number

BESIDE = Metric(
    name="beside",
    column="beside_mbps",
    sql="sum(goodput_mbps)",
    unit="Mbit/s",
    better=Better.HIGHER,
    form=numbers.mbps,
    relation=NEIGHBOURS,
    resolution=ONE_IN_A_THOUSAND,
)
"""The goodput of all streams that the other routers forward."""


class EchoLevels(Levels, frozen=True):
    """What cells of one setting have in common."""

    others: str
    payload_bytes: int
    interval_ms: float

    @property
    def phrases(self) -> Sequence[str]:
        """What the other routers do, and the echoes."""
        echoes = f"{self.payload_bytes}-byte echoes every {self.interval_ms:g} ms"
        return (f"others {_beside(self.others)}", echoes)

    @property
    def rank(self) -> tuple[str, int, float]:
        """Idle ones come first."""
        return self.others, self.payload_bytes, self.interval_ms


def answer(platform: Platform, cells: Sequence[Cell], _: Sequence[Added]) -> Sentence:
    """Return the round trips with the most guests that the platform was measured with."""
    most = max(cell.level or 0 for cell in cells)
    shown = [cell for cell in cells if cell.level == most]
    text = f"passes echoes through one of {guests_phrase(most)} {listed([_clause(cell) for cell in shown])}"
    share = max(cell.left_out for cell in shown)
    return sentence_of(platform, f"{text}; {left_out_words(share)}.")


def _clause(cell: Cell) -> str:
    mean = cell.estimate(RESPONSE_TIME)
    if mean is None:
        return f"never with {cell.setting.label}"
    form = numbers.microseconds
    return f"in {mean.bound.words}{form(mean.value)} µs with {cell.setting.label} {bracket(mean, form)}"


def _beside(others: str) -> str:
    return "idle" if others == "idle" else "forwarding TCP"


def _published(row: Printed) -> Sequence[Entry]:
    nothing = Number("")
    round_trip = Number(numbers.microseconds(float(row["round_trip_ms"]) * 1e6))
    return (row["setup"], row["guests"], round_trip, nothing, nothing, nothing, nothing)


CATALOGUE = Catalogue(
    kind="echo",
    reading=Reading(EchoLevels, GUESTS, asides=(UNANSWERED,), limits=unanswered_limits),
    metrics=(RESPONSE_TIME, LOSS),
    shown=(RESPONSE_TIME, LOSS, BESIDE),
    answer=answer,
    tables=(
        CellTable(
            name="echoes",
            title="Round trips through one router among many",
            note="Mean over the answered echoes, averaged over repetitions; beside is the total throughput of the "
            "other routers. raw with one guest is a plain router.",
            columns=(mean_of(RESPONSE_TIME, "round trip"), mean_of(LOSS, "lost"), mean_of(BESIDE, "beside")),
            n_of=LOSS,
            chapter=Chapter.TAX,
            published=PublishedRows(
                file="table3.csv",
                is_comparable=lambda row, cells: any(
                    row["others"] == cell.setting.of(EchoLevels).others for cell in cells
                ),
                heading=lambda row: (
                    f"others {_beside(row['others'])}, published ({row['section']}): {row['hardware']}"
                ),
                entries=_published,
            ),
        ),
    ),
    claimed=(Quantity.of("round_trip_ns", RESPONSE_TIME),),
)
