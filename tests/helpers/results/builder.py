"""The one writer of results with made-up numbers: what a trial of any kind has, and how trials become a result.

A kind of workload is a `Trial` of its own: what its scenarios say, which of its fields make a cell, and its rows.
"""

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from hdrh.histogram import HdrHistogram

from vtax.results import Result, ResultWriter, TrialRecord
from vtax.results.journal import Entry
from vtax.results.parts import part_path, write_part
from vtax.results.schema import BLOCK_TABLES

Row = dict[str, Any]
STARTED_AT = datetime(2025, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One trial of one cell. A test names what matters to it; the rest is what its kind has by default."""

    SCENARIO: ClassVar[Mapping[str, Any]]
    """What scenarios of the kind say, unless a test says otherwise."""
    KEY: ClassVar[Sequence[str]]
    """The fields that make a cell, after the platform; each has a column."""
    FACTORS: ClassVar[Sequence[str]] = ()
    """Those of them that a scenario names as factors, after the platform."""

    platform: str = "raw"
    block: int = 0
    emulated: bool = False
    verdict: str = "valid"
    marks: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    further: tuple[tuple[str, str], ...] = ()
    """Levels of factors that the kind has no field for."""

    @property
    def cell(self) -> str:
        levels = {name: _text(name, getattr(self, name)) for name in ("platform", *self.KEY)} | dict(
            self.further
        )
        return " ".join(f"{name}={text}" for name, text in levels.items() if text is not None)

    def record(self, trial_id: int) -> TrialRecord:
        trial = {
            "trial_id": trial_id,
            "cell": self.cell,
            "block": self.block,
            "position": trial_id,
            "repetition": self.block,
            "attempt": 0,
            "platform": self.platform,
            "accelerator": "emulated" if self.emulated else "none",
            "emulated": self.emulated,
            "verdict": self.verdict,
            "marks": list(self.marks),
            "reasons": list(self.reasons),
            "started_at": STARTED_AT,
            **{name: getattr(self, name) for name in self.KEY},
            **self.columns(),
            **dict(self.further),
        }
        return TrialRecord(trial, **self.rows())

    def columns(self) -> Row:
        """What the kind has in `trials` beside its cell."""
        return {}

    def rows(self) -> dict[str, list[Row]]:
        """The rows of the other tables, by table."""
        raise NotImplementedError


def make(
    directory: Path, trials: Iterable[Trial], *, kind: type[Trial] | None = None, **campaign: Any
) -> Result:
    """Write the trials, all of one kind, and open the result; `campaign` is what campaign.json says otherwise.

    Without a trial it has to be given of which kind none were measured.
    """
    trials = sorted(trials, key=lambda trial: trial.block)
    kind = kind or type(trials[0])
    factors: dict[str, list[Any]] = {
        **{
            name: list({getattr(trial, name): None for trial in trials})
            for name in ("platform", *kind.FACTORS)
        },
        **{name: [] for trial in trials for name, _ in trial.further},
    }
    scenario = {
        "name": "handmade",
        "title": "Handmade",
        "factors": factors,
        "repetitions": len({trial.block for trial in trials}),
        **kind.SCENARIO,
        **campaign.pop("scenario", {}),
    }
    platforms = {
        trial.platform: {"title": trial.platform, "kind": "x", "emulated": trial.emulated, "skipped": None}
        for trial in trials
    }
    content = {
        "name": "handmade",
        "scenario": scenario,
        "seed": 7,
        "status": "complete",
        "platforms": platforms,
        "command": ["vtax", "run", "handmade"],
        **campaign,
    }
    return write(directory, content, [trial.record(number) for number, trial in enumerate(trials)])


def of(paper: str, scenario: str) -> dict[str, Any]:
    """The keys of a scenario that repeats one of a paper's."""
    return {"name": f"{paper}/{scenario}", "source": {"paper": paper, "section": "1"}}


def small(trials: Sequence[Trial], paper: str, scenario: str) -> partial[Result]:
    """A result of a paper's scenario that is yet to be written: call it with a directory."""
    return partial(make, trials=trials, scenario=of(paper, scenario))


KEPT: dict[str, Result] = {}
"""Every result that was written in this process, by its content: many tests begin with the same one.

Copies of one share what has been asked of it, which no test changes.
"""


def write(directory: Path, campaign: Mapping[str, Any], records: Sequence[TrialRecord]) -> Result:
    """Write the trials, in the order of their blocks, or copy what was written of the same content before."""
    content = repr((campaign, records))
    if content not in KEPT:
        own = Path(tempfile.mkdtemp(dir=_kept_directory().name))
        with BlockWriter.create(own, campaign) as writer:
            for _, block in groupby(records, lambda record: record.trial["block"]):
                writer.commit_block(list(block))
        KEPT[content] = Result.open(own)
    kept = KEPT[content]
    shutil.copytree(kept.directory, directory, copy_function=shutil.copyfile, dirs_exist_ok=True)
    copy = replace(kept, directory=directory, campaign=deepcopy(kept.campaign))
    vars(copy).update(
        _connection=kept._connection, _rows_found=kept._rows_found, _tables_found=kept._tables_found
    )
    return copy


class BlockWriter(ResultWriter):
    """Leaves the same files as the writer of campaigns, each written once rather than with every trial."""

    def commit_block(self, records: Sequence[TrialRecord]) -> None:
        """Commit all trials of a block that has none yet."""
        added = [self._arrow(record) for record in records]
        numbers = [int(record.trial["trial_id"]) for record in records]
        block = int(records[0].trial["block"])
        for number, tables in zip(numbers, added, strict=True):
            self._write_trial(block, number, tables)
        rows = {name: pa.concat_tables([tables[name] for tables in added]) for name in BLOCK_TABLES}
        for name, table in rows.items():
            write_part(part_path(self.directory, name, block), table.combine_chunks())
        self._journal.extend(
            Entry(number, block, {name: table.num_rows for name, table in tables.items()})
            for number, tables in zip(numbers, added, strict=True)
        )


@cache
def _kept_directory() -> tempfile.TemporaryDirectory[str]:
    """In memory where that is possible: the writer flushes every file to the disk."""
    memory = Path("/dev/shm")  # noqa: S108, a directory of one's own is made there
    return tempfile.TemporaryDirectory(
        prefix="vtax-results-", dir=memory if os.access(memory, os.W_OK) else None
    )


def encode(delays_ns: np.ndarray) -> str:
    """A real HdrHistogram of the delays: 1 ns to 10 s, three digits, V2 encoding in base64."""
    histogram = HdrHistogram(1, 10_000_000_000, 3)
    for value, count in zip(*np.unique(delays_ns, return_counts=True), strict=True):
        histogram.record_value(int(value), int(count))
    return str(histogram.encode(), "ascii")


def _text(name: str, level: object) -> str | None:
    """A level as a cell's key has it; None where it has none."""
    if level is None:
        return "max" if name == "intended_mbps" else None
    return f"{level:g}" if isinstance(level, float) else str(level)
