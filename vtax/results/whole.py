"""A result that nothing is lost of, read at once: as nearly all are, and much quicker so than block by block.

The parts of each table are read as one dataset, and their rows counted for all trials together. Where anything is amiss
nothing is said of it here: the result is then read block by block, by who can tell what is lost.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
from numpy.typing import NDArray

from vtax.results.blocks import block_numbers
from vtax.results.bounds import PART_ROWS
from vtax.results.contents import differences
from vtax.results.files import is_regular
from vtax.results.journal import DamagedJournalError, read_numbers, row_counts
from vtax.results.parts import empty_columns, list_parts, nulls
from vtax.results.schema import TABLES, TRIAL_TABLES

FORMAT = ds.ParquetFileFormat(
    default_fragment_scan_options=ds.ParquetFragmentScanOptions(
        page_checksum_verification=True,
        pre_buffer=False,  # parts are small and on a disk that is near
    )
)
Integers = NDArray[np.int64]
TRIAL_ID = "trial_id"


class NotWholeError(Exception):
    """Something is missing, damaged, or not as it is in every other part."""


@dataclass(frozen=True)
class WholeTable:
    """A table's rows, the block of the part that each is from, and the columns that its parts lack or have beside."""

    rows: pa.Table
    blocks: Integers
    absent: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()

    @cached_property
    def trial_ids(self) -> Integers:
        """Of each row."""
        return np.asarray(self.rows[TRIAL_ID].to_numpy())


@dataclass(frozen=True)
class Whole:
    """Every table's rows, as of Contents."""

    tables: dict[str, pa.Table]
    notes: list[str]
    damaged: Sequence[str] = ()


def read_whole(
    directory: Path, schemas: Mapping[str, pa.Schema], kept: Collection[str] = TABLES
) -> Whole | None:
    """Read a result that nobody writes at the time; None where it has to be read block by block.

    Of tables that are not `kept` the rows are counted, and their values are not read.
    """
    try:
        numbers = block_numbers(directory)
        absent = {name for name in schemas if not (directory / name).is_dir()}
        with ThreadPoolExecutor(os.cpu_count()) as readers:
            listed = readers.submit(read_numbers, directory)
            found = readers.map(
                lambda name: _read_table(
                    {} if name in absent else _parts(directory, name, numbers), schemas[name], name in kept
                ),
                schemas,
            )
            tables = dict(zip(schemas, found, strict=True))
        unknown = _check(tables, listed.result()) - schemas.keys()
    except (NotWholeError, DamagedJournalError, OSError, pa.ArrowException, ValueError):
        return None
    for name, table in tables.items():
        absent |= {f"{name}.{column}" for column in table.absent}
        unknown |= {f"{name}.{column}" for column in table.unknown}
    return Whole({name: tables[name].rows for name in kept}, differences(absent, unknown))


def _parts(directory: Path, name: str, numbers: Sequence[int]) -> dict[Path, int]:
    """The files of a table that are there, each with its block. Arrow opens them: a pipe would have it wait."""
    known, of_trials = set(numbers), name in TRIAL_TABLES
    found = {
        path: part.block
        for path, part in list_parts(directory, name).items()
        if part.block in known and (part.trial_id is not None) == of_trials
    }
    if not all(is_regular(path) for path in found):
        raise NotWholeError
    return found


def _read_table(parts: Mapping[Path, int], schema: pa.Schema, kept: bool) -> WholeTable:
    """All parts of a table, which have to be alike. Columns that no part has a value in are not read.

    Of one that is not `kept`, only the trials that its rows are of.
    """
    if not parts:
        return WholeTable(schema.empty_table(), np.empty(0, np.int64))
    data = ds.dataset([str(path) for path in parts], format=FORMAT)
    fragments = list(data.get_fragments())
    if not all(fragment.physical_schema.equals(data.schema) for fragment in fragments):
        raise NotWholeError
    files = [fragment.metadata for fragment in fragments]
    rows = [file.num_rows for file in files]
    if max(rows) > PART_ROWS:
        raise NotWholeError
    empty = set.intersection(*(empty_columns(file) for file in files))
    known = set(schema.names)
    in_parts = [name for name in schema.names if name in data.schema.names and name not in empty]
    told = [name for name in in_parts if kept or name == TRIAL_ID] if any(rows) else []
    if any(data.schema.field(name).type != schema.field(name).type for name in told):
        raise NotWholeError
    # A thread for each table is quicker than many for each of its small parts. The system's allocator gives back what
    # the decoders needed beside, half as much again.
    pool = pa.system_memory_pool()
    found = (
        data.to_table(columns=told, use_threads=False, memory_pool=pool).combine_chunks(memory_pool=pool)
        if told
        else schema.empty_table()
    )
    columns = [found[field.name] if field.name in told else nulls(sum(rows), field.type) for field in schema]
    names = set(data.schema.names)
    return WholeTable(
        pa.Table.from_arrays(columns, schema=schema),
        np.repeat(np.array([*parts.values()]), rows),
        frozenset(known - names),
        frozenset(names - known),
    )


def _check(tables: Mapping[str, WholeTable], journal: tuple[Integers, Integers]) -> set[str]:
    """Raise NotWholeError unless every trial is there with all its rows, in its block; the tables that have any."""
    trials = tables["trials"]
    texts = trials.rows["row_counts"].combine_chunks().dictionary_encode()
    blocks = np.asarray(trials.rows["block"].to_numpy())
    if texts.null_count or not np.array_equal(blocks, trials.blocks):
        raise NotWholeError
    order = trials.trial_ids.argsort(kind="stable")
    ids, blocks, codes = trials.trial_ids[order], blocks[order], texts.indices.to_numpy()[order]
    each = [row_counts(text) for text in texts.dictionary.to_pylist()]
    for name, table in tables.items():
        expected = np.array([rows.get(name, 0) for rows in each], np.int64)[codes]
        found, counts = np.unique(table.trial_ids, return_counts=True)
        if not np.array_equal(found, ids[expected > 0]) or not np.array_equal(counts, expected[expected > 0]):
            raise NotWholeError
        if not np.array_equal(blocks[np.searchsorted(ids, table.trial_ids)], table.blocks):
            raise NotWholeError
    listed, their_blocks = journal
    if len(listed) > len(ids):
        raise NotWholeError
    place = np.searchsorted(ids, listed).clip(max=len(ids) - 1)
    if not np.array_equal(ids[place], listed) or not np.array_equal(blocks[place], their_blocks):
        raise NotWholeError
    return set().union(*each)
