"""What of a block can be read, trial by trial, and what is lost.

A trial is committed when the `trials` part that holds it is in place: its other parts were in place before. Its
row there says how many rows they have for it, so that a part which is lost, or comes from another time, is
noticed; the journal says which trials there must be, so that a lost `trials` part is.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from vtax.results.journal import Entry, row_counts
from vtax.results.parts import DamagedPartError, Part, list_parts, part_path, read_part, trial_parts
from vtax.results.schema import TRIAL_TABLES

NEEDED = ("trials", "flows")
"""A trial is shown when its rows of these are whole; those of the others may be lost."""


@dataclass
class Block:
    """The readable rows of a block. `whole` are the trials with all their rows, `lost` all others there must be."""

    tables: dict[str, pa.Table]
    whole: list[Entry] = field(default_factory=list)
    lost: set[int] = field(default_factory=set)
    damaged: list[str] = field(default_factory=list)
    absent: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)

    def rows_of(self, entries: Iterable[Entry]) -> dict[str, pa.Table]:
        """Each table's rows of these trials only."""
        trials = pa.array([entry.trial_id for entry in entries], pa.int64())
        return {
            name: rows.filter(pc.is_in(rows["trial_id"], value_set=trials))
            for name, rows in self.tables.items()
        }


def block_numbers(directory: Path) -> list[int]:
    """The blocks that have a `trials` part."""
    return sorted(part.block for part in list_parts(directory, "trials").values() if part.trial_id is None)


def read_block(
    directory: Path, schemas: Mapping[str, pa.Schema], number: int, listed: Sequence[Entry]
) -> Block:
    """Read the block; `listed` are the journal's entries of it, read before.

    A writer at work puts `trials` in place last, so that every trial found there, first, has all its rows in
    the parts read afterwards.
    """
    block = Block({})
    paths = {name: part_path(directory, name, number) for name in schemas}
    parts, problems = _read_parts(paths, schemas, block)
    for name in TRIAL_TABLES & schemas.keys():
        parts[name] = _read_trial_parts(directory, name, number, schemas[name], block, problems)
    counts = {name: _count(part.rows["trial_id"]) for name, part in parts.items()}
    trials = parts["trials"].rows
    trials = trials.filter(pc.equal(trials["block"], number))
    told, untold = _told(trials)
    if untold:
        block.damaged.append(
            f"{paths['trials']}: {_trials(untold)} of block {number} with nonsense for row_counts"
        )
    entries = _entries(number, told, listed, counts, problems)
    committed = set(entries) | {entry.trial_id for entry in listed}

    block.unknown |= {name for entry in entries.values() for name in entry.rows} - schemas.keys()

    # Lost rows, by table; a lost trial is told of once, under the first of the needed tables that lacks it.
    lacking = {name: _lacking(name, entries.values(), counts[name]) for name in schemas}
    lacking["trials"] = committed - set(entries)
    hidden: set[int] = set()
    for name in NEEDED:
        if short := lacking[name] - hidden:
            block.damaged.append(
                f"{paths[name]}: {problems.get(name, 'lacks rows')}; {_trials(short)} of block {number} "
                f"{'is' if len(short) == 1 else 'are'} left out"
            )
        hidden |= lacking[name]
    for name in (name for name in schemas if name not in NEEDED):
        if short := lacking[name] - hidden:
            block.damaged.append(
                f"{paths[name]}: {problems.get(name, 'lacks rows')}; {_trials(short)} of block {number} "
                f"{'is' if len(short) == 1 else 'are'} shown without {name}"
            )
    for name, part in parts.items():
        rows = trials if name == "trials" else part.rows
        readable = entries.keys() - hidden - lacking[name]
        if not counts[name].keys() <= readable:
            rows = rows.filter(pc.is_in(rows["trial_id"], value_set=pa.array(sorted(readable), pa.int64())))
        block.tables[name] = rows
    block.lost = set().union(*lacking.values())
    block.whole = [entry for trial_id, entry in entries.items() if trial_id not in block.lost]
    return block


def _read_parts(
    paths: Mapping[str, Path], schemas: Mapping[str, pa.Schema], block: Block
) -> tuple[dict[str, Part], dict[str, str]]:
    """Every table's part, `trials` first; an empty one, and why, where it cannot be read."""
    parts, problems = {}, {}
    for name in sorted(schemas.keys() - TRIAL_TABLES, key=lambda name: name != "trials"):
        try:
            parts[name] = read_part(paths[name], schemas[name])
        except DamagedPartError as error:
            parts[name] = Part(schemas[name].empty_table())
            if paths[name].parent.is_dir():
                problems[name] = str(error)
            else:
                block.absent.add(name)
        block.absent |= {f"{name}.{column}" for column in parts[name].absent}
        block.unknown |= {f"{name}.{column}" for column in parts[name].unknown}
    return parts, problems


def _read_trial_parts(
    directory: Path, name: str, number: int, schema: pa.Schema, block: Block, problems: dict[str, str]
) -> Part:
    """The parts of a block's trials as one; those that cannot be read are missing in it."""
    if not (directory / name).is_dir():
        block.absent.add(name)
    parts = [Part(schema.empty_table())]
    for path in trial_parts(directory, name, number).values():
        try:
            parts.append(read_part(path, schema))
        except DamagedPartError as error:
            problems[name] = f"{path.name} is {error}"
    block.absent |= {f"{name}.{column}" for part in parts for column in part.absent}
    block.unknown |= {f"{name}.{column}" for part in parts for column in part.unknown}
    return Part(pa.concat_tables([part.rows for part in parts]))


def _count(trials: pa.ChunkedArray) -> Counter[int]:
    """Rows of each trial."""
    return Counter({each["values"]: each["counts"] for each in pc.value_counts(trials).to_pylist()})


def _told(trials: pa.Table) -> tuple[dict[int, Mapping[str, int] | None], set[int]]:
    """The rows that each trial of the `trials` part must have, None where it does not say; those that say nonsense."""
    told: dict[int, Mapping[str, int] | None] = {}
    nonsense = set()
    for trial_id, text in zip(trials["trial_id"].to_pylist(), trials["row_counts"].to_pylist(), strict=True):
        try:
            told[trial_id] = None if text is None else row_counts(text)
        except ValueError:
            told[trial_id] = None
            nonsense.add(trial_id)
    return told, nonsense


def _entries(
    number: int,
    told: Mapping[int, Mapping[str, int] | None],
    listed: Sequence[Entry],
    counts: Mapping[str, Counter[int]],
    problems: dict[str, str],
) -> dict[int, Entry]:
    """The trials of the `trials` part with the rows they must have, as `told` there.

    What an earlier vtax wrote says that in the journal only, as does what is damaged; without it, what is there
    passes for all there was, save in a part that cannot be read, which then counts as holding one row more.
    """
    in_journal = {entry.trial_id: entry for entry in listed}
    entries = {}
    for trial_id, rows in told.items():
        if rows is not None:
            entries[trial_id] = Entry(trial_id, number, rows)
        elif trial_id in in_journal:
            entries[trial_id] = in_journal[trial_id]
        else:
            found = {name: count[trial_id] + (name in problems) for name, count in counts.items()}
            entries[trial_id] = Entry(trial_id, number, found)
    return entries


def _lacking(name: str, entries: Iterable[Entry], count: Counter[int]) -> set[int]:
    return {entry.trial_id for entry in entries if entry.rows.get(name, 0) != count[entry.trial_id]}


def _trials(found: set[int]) -> str:
    return "1 trial" if len(found) == 1 else f"{len(found)} trials"
