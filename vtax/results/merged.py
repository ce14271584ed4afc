"""One result of the blocks that several testbeds have measured of a campaign.

A block is taken whole, from one testbed, so that a cell and its reference stay together. The testbed becomes a factor
of the result, part of every cell's key: no mean is ever taken over two of them.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import JsonValue

from vtax.inputs import InputError
from vtax.results.blocks import Block
from vtax.results.bounds import BLOCKS
from vtax.results.captures import capture_path, read_capture
from vtax.results.delivered import MOST_TRIALS, Delivered, host_name
from vtax.results.files import disk_errors, make_directory, remove_file, replace_file
from vtax.results.journal import Entry
from vtax.results.own_files import all_hashes
from vtax.results.parts import trial_parts
from vtax.results.schema import BLOCK_TABLES, TRIAL_TABLES
from vtax.results.stored import listed, mapping, mappings
from vtax.results.writer import ResultWriter

TESTBED = "testbed"
"""The factor, and its column of `trials`."""


class MergedWriter(ResultWriter):
    """The writer of a result that blocks are merged into."""

    @classmethod
    def begin(cls, directory: Path, campaign: Mapping[str, JsonValue]) -> "MergedWriter":
        """Begin an empty one; `campaign` is campaign.json's content of a single testbed's."""
        kept: dict[str, JsonValue] = {
            **campaign,
            "factors": [*listed(campaign.get("factors")), TESTBED],
            TESTBED: {},
            "testbeds": {},
            "hosts": {},
            "platforms": {},
            "ceilings": [],
            "blocks": None,
        }
        return cls.create(directory, kept)

    @cached_property
    def blocks(self) -> set[int]:
        """The blocks that it holds."""
        return {entry.block for entry in self._committed.values()}

    def adopt(self, delivered: Delivered, number: int) -> pa.Table:
        """Commit a block of a result as a whole; returns its rows of `trials`.

        Raises InputError, before anything of it is written, where trials of it lack rows or it is here already.
        """
        if number in self.blocks:
            raise InputError(f"{delivered.directory}: block {number} has been merged already")
        block = delivered.read(number)
        self._describe(delivered, number)
        return self._adopt(delivered, number, block)

    def _adopt(self, delivered: Delivered, number: int, block: Block) -> pa.Table:
        old = np.array(sorted(entry.trial_id for entry in block.whole), np.int64)
        first = number * MOST_TRIALS + 1
        new = {int(trial_id): first + place for place, trial_id in enumerate(old)}
        rows = {
            name: _renamed(block.tables[name], old, first, delivered.testbed, schema)
            for name, schema in self._schemas.items()
        }
        entries = [Entry(new[entry.trial_id], number, entry.rows) for entry in block.whole]
        with disk_errors(self.directory):
            self._copy_captures(delivered.directory, new)
            for table in TRIAL_TABLES:
                for path in trial_parts(self.directory, table, number).values():
                    remove_file(path)  # of a block that was never committed
            for entry in entries:
                if any(entry.rows.get(name) for name in TRIAL_TABLES):
                    self._write_trial(
                        number, entry.trial_id, {name: _of(rows[name], entry) for name in TRIAL_TABLES}
                    )
            self._write(number, rows, BLOCK_TABLES)
            self._journal.extend(entries)
        self._committed |= {entry.trial_id: entry for entry in entries}
        self.blocks.add(number)
        return rows["trials"]

    def _copy_captures(self, source: Path, new: Mapping[int, int]) -> None:
        for trial_id, renumbered in new.items():
            if capture := read_capture(source, trial_id):
                copy = capture_path(self.directory, renumbered)
                make_directory(copy.parent)
                replace_file(copy, capture)

    def _describe(self, delivered: Delivered, number: int) -> None:
        """What campaign.json says of the testbed: with it every number in it can be told from others' ones."""
        testbed, told = delivered.testbed, delivered.campaign
        known = mappings(self.campaign["hosts"])
        delivered.check_hosts(known)
        for other in mappings(self.campaign["testbeds"]).values():
            delivered.check_files(all_hashes(other.get("platforms")))
        platforms = mapping(told.get("platforms"))
        facts = {**mapping(told.get(TESTBED)), "name": testbed, "platforms": platforms}
        testbeds = dict(sorted({**mappings(self.campaign["testbeds"]), testbed: facts}.items()))
        layouts = [each.get("cpus") for each in testbeds.values()]
        shared = {"cpus": layouts[0]} if all(layout == layouts[0] for layout in layouts) else {}
        measured = (mapping(each) for each in listed(told.get("ceilings")))
        ceilings = [{TESTBED: testbed, "block": number, **each} for each in measured]
        self.update(
            testbeds={**testbeds},
            testbed={"name": ", ".join(testbeds), **shared},
            hosts=dict(sorted({**known, **delivered.hosts}.items())),
            platforms=_platforms(testbeds.values()),
            ceilings=[*sorted([*_others(self.campaign["ceilings"], testbed, number), *ceilings], key=_order)],
        )


def merge(parts: list[Delivered], directory: Path) -> list[str]:
    """Make one result in `directory` of results that hold blocks of one campaign; returns what a user should know.

    Of a block that several hold the first whole one is taken, in the order given; one that is whole nowhere is taken
    from the first. Raises InputError where they are of different campaigns, or a host or file of one name is two.
    """
    first = parts[0]
    hosts: dict[str, dict[str, JsonValue]] = {}
    files: dict[str, str] = {}
    for part in parts:
        part.check_same(first.campaign)
        part.check_hosts(hosts)
        part.check_files(files)
        hosts |= part.hosts
        files |= part.file_hashes
    notes, chosen = [], {}
    repetitions = mapping(first.campaign.get("scenario")).get("repetitions")
    blocks = range(min(repetitions, BLOCKS) if isinstance(repetitions, int) else 0)
    for number in blocks:
        holders = [part for part in parts if number in part.blocks]
        ranked = sorted(holders, key=lambda part: part.is_cut(number))
        notes += [
            f"block {number} is taken from {ranked[0].directory}, not from {other.directory}"
            for other in ranked[1:]
        ]
        if ranked:
            chosen[number] = ranked[0]
    lacking = [number for number in blocks if number not in chosen or chosen[number].is_cut(number)]
    if lacking:
        notes.append(f"measured nowhere as a whole: block {', '.join(map(str, lacking))}")
    with MergedWriter.begin(directory, {**first.campaign, "status": "running"}) as writer:
        writer.keep_files(first.files)
        for number, part in chosen.items():
            writer.adopt(part, number)
        writer.update(status="interrupted" if lacking else "complete")
    return notes


def _renamed(
    rows: pa.Table,
    old: NDArray[np.int64],
    first: int,
    testbed: str,
    schema: pa.Schema,
) -> pa.Table:
    """A table's rows of a block with the trials' own numbers, and with what tells the testbed apart."""
    columns = {column: rows[column] for column in rows.schema.names}
    places = np.searchsorted(old, rows["trial_id"].to_numpy())
    columns["trial_id"] = pa.array(first + places, pa.int64())
    for key in {"cell", "search"} & columns.keys():
        columns[key] = pc.binary_join_element_wise(columns[key], f"{TESTBED}={testbed}", " ")
    if "host" in columns:
        plain = columns["host"].to_pylist()
        columns["host"] = pa.array(
            [host if host is None else host_name(testbed, host) for host in plain], pa.string()
        )
    if TESTBED in schema.names:
        columns[TESTBED] = pa.array([testbed] * len(rows), pa.string())
    return pa.Table.from_arrays([columns[field.name] for field in schema], schema=schema)


def _of(rows: pa.Table, entry: Entry) -> pa.Table:
    return rows.filter(pc.equal(rows["trial_id"], entry.trial_id))


def _others(ceilings: JsonValue, testbed: str, block: int) -> list[dict[str, JsonValue]]:
    known = (mapping(each) for each in listed(ceilings))
    return [each for each in known if (each[TESTBED], each["block"]) != (testbed, block)]


def _order(ceiling: Mapping[str, JsonValue]) -> tuple[int, str]:
    """By block, then by testbed."""
    block = ceiling["block"]
    return block if isinstance(block, int) else 0, str(ceiling[TESTBED])


def _platforms(testbeds: Iterable[Mapping[str, JsonValue]]) -> dict[str, JsonValue]:
    """What is told of each platform where it is used, in the order of the testbeds' names; else why it is not."""
    found: dict[str, dict[str, JsonValue]] = {}
    for testbed in testbeds:
        for name, facts in mappings(testbed["platforms"]).items():
            if name not in found or (found[name].get("skipped") and not facts.get("skipped")):
                found[name] = facts
    return {**found}
