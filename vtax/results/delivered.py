"""A result that a testbed has measured, as the source of blocks that are merged with others'."""

import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic import JsonValue

from vtax.inputs import InputError
from vtax.inputs.own_file import short
from vtax.results.blocks import Block, block_numbers, read_block
from vtax.results.bounds import FILE_BYTES
from vtax.results.files import FILES, is_written, read_file
from vtax.results.journal import DamagedJournalError, Entry, by_block, read_journal
from vtax.results.manifest import read_manifest
from vtax.results.mending import mend
from vtax.results.own_files import all_hashes
from vtax.results.schema import schemas
from vtax.results.stored import ON_ONE_TESTBED, mapping, mappings

MOST_TRIALS = 1_000_000
"""Of a block: in a merged result trial n of block b is number 1,000,000 b + n, in whatever order blocks arrive."""
LOCAL = "local"
"""What a machine alone is called, which tells it from no other."""
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}"
"""Of a testbed."""
SAME = ("name", "scenario", "seed", "vtax_version")
"""What the results of one campaign have in common."""


@dataclass(frozen=True)
class Delivered:
    """A result that holds blocks of a campaign: where it is, which testbed measured it, what it says of itself."""

    directory: Path
    testbed: str
    campaign: dict[str, JsonValue]
    listed: Mapping[int, list[Entry]]

    @classmethod
    def open(cls, directory: Path, testbed: str | None = None) -> "Delivered":
        """The result in `directory`; by default its testbed has the name that it says itself.

        Raises InputError where there is no result, or none that can be merged.
        """
        campaign = read_manifest(directory)
        if edited := mend(deepcopy(campaign)):
            raise InputError(f"{directory}: {edited[0].partition(';')[0]}; correct it before it is merged")
        if campaign.get("testbeds"):
            raise InputError(f"{directory} is merged already; name the results that it came from")
        for mode in ON_ONE_TESTBED:
            if mapping(campaign.get("scenario")).get(mode):
                raise InputError(
                    f"{directory}: with `{mode}` all trials of a cell belong together, so that it is measured on one "
                    "testbed; vtax compare holds two such results against each other"
                )
        name = testbed or str(mapping(campaign.get("testbed")).get("name") or LOCAL)
        if name == LOCAL:
            raise InputError(
                f"{directory}: it says of its testbed only that it is {LOCAL}; name it, as NAME={directory}, and "
                "others of the same machine alike"
            )
        if not re.fullmatch(NAME, name):
            raise InputError(f'"{name}" is no name of a testbed: letters, digits, ".", "_" and "-" are')
        if campaign.get("status") == "running" and is_written(directory):
            raise InputError(f"{directory}: its campaign still runs; wait for its end")
        try:
            return cls(directory, name, campaign, by_block(read_journal(directory)))
        except DamagedJournalError as error:
            raise InputError(f"{error}; vtax run SCENARIO --resume {directory} builds it again") from None

    @cached_property
    def blocks(self) -> list[int]:
        """The numbers of the blocks that it has trials of."""
        return sorted({*self.listed, *block_numbers(self.directory)})

    @property
    def files(self) -> dict[str, bytes]:
        """What its scenario names, by name. InputError where that cannot be read."""
        place = self.directory / FILES
        try:
            return (
                {path.name: read_file(path, FILE_BYTES) for path in sorted(place.iterdir())}
                if place.is_dir()
                else {}
            )
        except OSError as error:
            raise InputError(
                f"{error.filename}: {error.strerror}; remove it, or leave out {self.directory}"
            ) from None

    @property
    def hosts(self) -> dict[str, dict[str, JsonValue]]:
        """What is told of its hosts, by their names among those of all testbeds."""
        told = mappings(self.campaign.get("hosts"))
        return {host_name(self.testbed, name): facts for name, facts in told.items()}

    def check_hosts(self, known: Mapping[str, Mapping[str, JsonValue]]) -> None:
        """Raise InputError where a host of the same name is another machine, or has changed."""
        for name, facts in self.hosts.items():
            if name in known and known[name].get("hash") != facts.get("hash"):
                raise InputError(
                    f"{self.directory}: its host is another one than testbed {self.testbed} had before, or has another "
                    "kernel or other mitigations; what differs needs a name of its own, as in NAME=DIRECTORY"
                )

    @property
    def file_hashes(self) -> dict[str, str]:
        """The SHA-256 of the files of the user's own that guests started from, by the path."""
        return all_hashes(self.campaign.get("platforms"))

    def check_files(self, known: Mapping[str, str]) -> None:
        """Raise InputError where a file of the user's own is another one than where blocks were measured before."""
        for named, sha256 in self.file_hashes.items():
            if known.get(named, sha256) != sha256:
                raise InputError(
                    f"{self.directory}: its guests started from another {named} than those before: SHA-256 "
                    f"{short(sha256)}, not {short(known[named])}; measure its blocks again with the same file"
                )

    def is_cut(self, number: int) -> bool:
        """Whether the block may lack trials: of a campaign that was cut short, the last one."""
        return self.campaign.get("status") != "complete" and number == self.blocks[-1]

    def read(self, number: int) -> Block:
        """The block's rows, all of them: InputError where a trial of it lacks any."""
        block = read_block(self.directory, schemas(self.campaign), number, self.listed.get(number, []))
        if block.lost or block.damaged or block.unknown or not 0 < len(block.whole) < MOST_TRIALS:
            problem = (block.damaged or ["it is not as this vtax writes it"])[0]
            raise InputError(f"{self.directory}: block {number} is not whole: {problem}")
        return block

    def check_same(self, campaign: Mapping[str, JsonValue]) -> None:
        """Raise InputError unless this is of the campaign that campaign.json tells of."""
        for key in SAME:
            if self.campaign.get(key) != campaign.get(key):
                values = "" if key == "scenario" else f": {self.campaign.get(key)} and {campaign.get(key)}"
                raise InputError(
                    f"{self.directory} is not of this campaign, they differ in {key.replace('_', ' ')}{values}; "
                    "vtax compare holds two campaigns against each other"
                )


def host_name(testbed: str, host: str) -> str:
    """A host's name among those of all testbeds."""
    return testbed if host in {LOCAL, testbed} else f"{testbed}/{host}"
