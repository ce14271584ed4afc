"""All that can be read of a result, block by block, and what the reader should know of it."""

import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from vtax.results.blocks import Block, block_numbers, read_block
from vtax.results.journal import NAME as JOURNAL
from vtax.results.journal import DamagedJournalError, Entry, by_block, read_journal
from vtax.results.parts import list_parts

MOST_NAMED = 3
"""Tables and columns that a note names before it counts the rest."""
FEW_BLOCKS = 5
"""So few take half the CPU time one after the other that they take all at once, and hardly longer."""
SMALL_JOURNAL_BYTES = 1 << 16
"""Of some three hundred trials: of more, looking at each takes longer than what is spared."""


@dataclass(frozen=True)
class Contents:
    """The blocks of a result; `journal_problem` is why its journal is of no use, or None."""

    directory: Path
    blocks: dict[int, Block]
    journal_problem: DamagedJournalError | None

    @property
    def tables(self) -> dict[str, pa.Table]:
        """Every table's readable rows."""
        names = next(iter(self.blocks.values())).tables if self.blocks else {}
        return {
            name: pa.concat_tables([block.tables[name] for block in self.blocks.values()]) for name in names
        }

    @property
    def whole(self) -> list[Entry]:
        """The trials that have all their rows."""
        return [entry for block in self.blocks.values() for entry in block.whole]

    @property
    def lost(self) -> set[int]:
        """The trials that there must be and that lack rows of some table."""
        return set().union(*(block.lost for block in self.blocks.values()))

    @property
    def unknown(self) -> set[str]:
        """Tables and columns that a later vtax wrote."""
        return set().union(*(block.unknown for block in self.blocks.values()))

    @property
    def damaged(self) -> list[str]:
        """Each file that is missing or damaged, with what is lost by it."""
        found = [problem for block in self.blocks.values() for problem in block.damaged]
        if self.journal_problem is not None:
            found.insert(
                0,
                f"{self.journal_problem}; the trials come from the Parquet parts instead, where a part that is "
                f"lost as a whole would not be missed. vtax run SCENARIO --resume {self.directory} builds it again",
            )
        return found

    @property
    def notes(self) -> list[str]:
        """In what the result differs from those that this vtax writes, said once."""
        absent: set[str] = set().union(*(block.absent for block in self.blocks.values()))
        return differences(absent, self.unknown)


def differences(absent: Iterable[str], unknown: Iterable[str]) -> list[str]:
    """In what a result differs that lacks these tables and columns, or has these beside, in a sentence each."""
    notes = []
    if absent:
        notes.append(f"written by an earlier vtax, without {_some(absent)}: read as null or empty")
    if unknown:
        notes.append(
            f"written by a later vtax, with {_some(unknown)}: left out here; any Parquet reader shows them"
        )
    return notes


def _some(names: Iterable[str]) -> str:
    """The first of many names, and how many more there are."""
    first = sorted(names)
    more = len(first) - MOST_NAMED
    return ", ".join(first) if more <= 0 else f"{', '.join(first[:MOST_NAMED])} and {more} more"


def is_small(directory: Path, tables: Iterable[str]) -> bool:
    """Whether a result has few blocks of few trials, or it cannot be told. InputError where it has too many files."""
    try:
        parts = max(len(list_parts(directory, name)) for name in tables)
        return parts <= FEW_BLOCKS and (directory / JOURNAL).stat().st_size <= SMALL_JOURNAL_BYTES
    except OSError:
        return True


def read_contents(directory: Path, schemas: Mapping[str, pa.Schema]) -> Contents:
    """Read everything that is committed, also while a campaign writes."""
    problem = None
    try:
        listed = by_block(read_journal(directory))
    except DamagedJournalError as error:
        listed, problem = {}, error
    numbers = sorted({*listed, *block_numbers(directory)})
    with ThreadPoolExecutor(os.cpu_count()) as readers:
        read = readers.map if len(numbers) > FEW_BLOCKS else map
        blocks = read(lambda number: read_block(directory, schemas, number, listed.get(number, [])), numbers)
        return Contents(directory, dict(zip(numbers, blocks, strict=True)), problem)
