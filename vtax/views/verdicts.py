"""Verdicts: how many trials can be used, why others cannot, and what was left out of each cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from msgspec import Struct

from vtax.results import Result
from vtax.views.bulk_cells import BulkCell, BulkSetting, guests_phrase, level_label
from vtax.views.cells import Cell, Setting, load_phrase
from vtax.views.echoes import Echoes, EchoSetting
from vtax.views.responses import Responses, ResponseSetting
from vtax.views.rounds import Rounds, RoundSetting
from vtax.views.stages import TracedCell, TracedSetting

VERDICTS = ("valid", "suspect", "invalid")


@dataclass(frozen=True)
class VerdictCount:
    """Trials of a platform with one verdict and one kind of reason (empty for a clean trial).

    A reason's kind stands before its colon, the trial's own figures after it.

    A trial with several reasons counts under each of them.
    """

    platform: str
    verdict: str
    reason: str
    trials: int


@dataclass(frozen=True)
class CellVerdict:
    """A cell's recorded trials by verdict. `left_out` is the invalid share, 0 to 1.

    Cells of frames differ by `intended_mbps` as well, which is None for the flood; those of requests by
    `message_bytes`, rounds of relays by `hops`, all others by `guests`.
    """

    key: str
    platform: str
    setting: Setting | BulkSetting | EchoSetting | ResponseSetting | RoundSetting | TracedSetting
    intended_mbps: float | None
    guests: int | None
    message_bytes: int | None
    hops: int | None
    recorded: int
    suspect: int
    invalid: int
    left_out: float
    usable: bool

    @property
    def level(self) -> str:
        """Its load, number of guests or length of requests, in a table; nothing where the setting says it all."""
        if self._is_all_setting:
            return ""
        for level in (self.message_bytes, self.hops):
            if level is not None:
                return str(level)
        return level_label(self.intended_mbps, self.guests)

    @property
    def name(self) -> str:
        """In a sentence."""
        if self.hops is not None or self._is_all_setting:
            return f"{self.platform}, {self.setting.label}"
        if self.message_bytes is not None:
            level = f"{self.message_bytes}-byte requests"
        else:
            level = load_phrase(self.intended_mbps) if self.guests is None else guests_phrase(self.guests)
        return f"{self.platform}, {self.setting.label}, {level}"

    @property
    def _is_all_setting(self) -> bool:
        return isinstance(self.setting, TracedSetting | RoundSetting) and self.hops is None


class _Count(Struct, frozen=True):
    """So many trials of a platform that say the same."""

    platform: str
    verdict: str
    reason: str
    trials: int


def verdict_counts(result: Result) -> list[VerdictCount]:
    """Trials by platform, verdict and reason."""
    rows = result.read(
        "SELECT platform, verdict, split_part(text, ': ', 1) AS reason, count(*) AS trials FROM ("
        "  SELECT platform, verdict, unnest(CASE WHEN len(reasons) > 0 THEN reasons ELSE [''] END) AS text"
        "  FROM trials"
        ") GROUP BY ALL",
        _Count,
    )
    rows.sort(key=lambda row: (row.platform, VERDICTS.index(row.verdict), -row.trials, row.reason))
    return [VerdictCount(row.platform, row.verdict, row.reason, row.trials) for row in rows]


def verdict_totals(result: Result) -> dict[str, int]:
    """Trials by verdict over the whole campaign; every verdict is named."""
    counted = Counter(result.tables["trials"]["verdict"].to_pylist())
    return {verdict: counted[verdict] for verdict in VERDICTS}


def cell_verdicts(cells: Iterable[Cell]) -> list[CellVerdict]:
    """A row a cell; one that ran in two contexts is usable if either has a usable trial."""
    found: dict[str, CellVerdict] = {}
    for cell in cells:
        verdict = _verdict(cell, intended_mbps=cell.intended_mbps)
        usable = verdict.usable or (cell.key in found and found[cell.key].usable)
        found[cell.key] = replace(verdict, usable=usable)
    return list(found.values())


def guests_verdicts(cells: Iterable[BulkCell | Echoes]) -> list[CellVerdict]:
    """The same of cells that differ by their number of guests."""
    return [_verdict(cell, guests=cell.guests) for cell in cells]


def request_verdicts(cells: Iterable[Responses]) -> list[CellVerdict]:
    """The same of cells that differ by the length of their requests."""
    return [_verdict(cell, message_bytes=cell.message_bytes) for cell in cells]


def round_verdicts(cells: Iterable[Rounds]) -> list[CellVerdict]:
    """The same of rings, which differ by their relays."""
    return [_verdict(cell, hops=cell.setting.hops) for cell in cells]


def traced_verdicts(cells: Iterable[TracedCell]) -> list[CellVerdict]:
    """The same of cells whose packets were followed."""
    return [_verdict(cell) for cell in cells]


def _verdict(
    cell: Cell | BulkCell | Echoes | Responses | Rounds | TracedCell,
    intended_mbps: float | None = None,
    guests: int | None = None,
    message_bytes: int | None = None,
    hops: int | None = None,
) -> CellVerdict:
    """A cell's, with what cells of its kind differ by."""
    return CellVerdict(
        key=cell.key,
        platform=cell.platform,
        setting=cell.setting,
        intended_mbps=intended_mbps,
        guests=guests,
        message_bytes=message_bytes,
        hops=hops,
        recorded=cell.recorded,
        suspect=cell.suspect,
        invalid=cell.invalid,
        left_out=cell.left_out,
        usable=cell.is_usable,
    )
