"""A campaign that goes on: in whose hands its result is, what that stores, and where it differs from what was typed."""

import contextlib
import json
import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

from pydantic import JsonValue

from vtax.campaign.blocks import chosen_blocks
from vtax.campaign.mode import is_done, mode_of
from vtax.campaign.state import CampaignState, state_of
from vtax.inputs import Document, InputError
from vtax.inputs.needs import Need
from vtax.inputs.trust import callers, distrust
from vtax.results import FILES, Result
from vtax.results.own_files import file_hashes
from vtax.scenario import Scenario
from vtax.testbed.remote import TestbedFile, testbed_of

MANIFEST = "campaign.json"
_INVALID = """
    SELECT coalesce(search, cell) AS cell, any_value(reasons[1]) AS reason FROM trials
    WHERE verdict = 'invalid' AND reasons[1] IS NOT NULL GROUP BY 1
"""


@dataclass(frozen=True)
class Typed:
    """A campaign as the command line names it."""

    scenario: Scenario
    testbed: TestbedFile | None


@dataclass(frozen=True)
class Resumed:
    """The campaign of a result, as the result stores it. What it names is run, so it is in the hands of its caller."""

    result: Result
    name: str
    seed: int
    """That of the random order of trials."""
    blocks: list[int] | None
    """Those that are measured here; None for all."""
    scenario: Scenario
    testbed: TestbedFile | None
    """The machines that it was begun on; None for this one."""
    typed: Typed | None = None
    """What was typed to go on with it, where that may be something else."""

    @classmethod
    def read(
        cls, directory: Path, owners: Collection[int] | None = None, typed: Typed | None = None
    ) -> "Resumed":
        """Read the campaign in `directory`, which `owners` alone may write to: by default who calls, also by sudo.

        Raises InputError where another may write there, and where the campaign cannot be read as it was begun.
        """
        real = directory.resolve()
        directory = directory if real == directory.absolute() else real  # a link could lead elsewhere later
        if directory.is_dir():
            _check_hands(directory, callers() if owners is None else owners)
        result = Result.open(directory)
        path = directory / MANIFEST
        stored: dict[str, JsonValue] = result.campaign
        name, keys, seed = (stored.get(key) for key in ("name", "scenario", "seed"))
        if not (isinstance(name, str) and isinstance(keys, dict) and isinstance(seed, int)):
            lost = [key for key in ("name", "scenario", "seed") if stored.get(key) is None]
            raise InputError(
                f"{path}: {', '.join(lost)} cannot be read, without which no campaign goes on; its trials are shown by "
                f"vtax show {directory}"
            )
        scenario = Scenario.from_resolved(keys, path, directory / FILES)
        return cls(result, name, seed, _blocks_of(stored), scenario, _testbed_of(stored, path), typed)

    @property
    def directory(self) -> Path:
        """Where the result is."""
        return self.result.directory

    @property
    def of_testbeds(self) -> bool:
        """Whether it is a campaign of several testbeds."""
        return self.result.campaign.get("testbeds") is not None

    @cached_property
    def state(self) -> CampaignState:
        """What is committed."""
        return state_of(self.result)

    @cached_property
    def reasons(self) -> dict[str, str]:
        """Why trials of it are invalid, by the cell."""
        return {row["cell"]: row["reason"] for row in self.result.query(_INVALID).to_pylist()}

    @property
    def file_hashes(self) -> dict[str, dict[str, str]]:
        """The SHA-256 of the files of the user's own that its guests started from, by the platform and the path."""
        return file_hashes(self.result.campaign.get("platforms"))

    @property
    def is_whole(self) -> bool:
        """Whether the campaign came to its end, and nothing of it was lost since."""
        return self.result.campaign.get("status") == "complete" and not self.result.damaged

    @cached_property
    def is_done(self) -> bool:
        """Whether it is whole, and no trial of it is left to make, whatever can be measured here."""
        if not self.is_whole:
            return False
        chosen = chosen_blocks(self.scenario, self.blocks)
        if self.of_testbeds:
            return set(chosen) <= set(self.result.tables["trials"]["block"].to_pylist())
        cells = self.scenario.cells()
        return is_done(mode_of(self.scenario, cells), chosen, cells, self.state)

    @property
    def ending(self) -> str:
        """What is said of a campaign that nothing is left of."""
        return f"{self.directory}: the campaign is complete; to see it: vtax show {self.directory}"

    def check_same(self, given: Scenario, *, of_testbeds: bool) -> None:
        """Raise InputError unless the campaign is of the scenario that was named, and of as many testbeds."""
        if self.name != given.name:
            raise InputError(
                f'{self.directory} holds a campaign of "{self.name}", not of "{given.name}"; name that one'
            )
        if self.of_testbeds and not of_testbeds:
            raise InputError(
                f"{self.directory}: the campaign runs on several testbeds, so this machine alone cannot continue it; "
                "add --testbeds FILE"
            )

    @property
    def needs(self) -> list[Need]:
        """Each difference to what was typed, which the user grants."""
        if self.typed is None:
            return []
        return [Need("stored", line) for line in self.differences(self.typed.scenario, self.typed.testbed)]

    def differences(self, given: Scenario, testbed: TestbedFile | None = None) -> list[str]:
        """Return what is stored otherwise than was typed, a line for each key."""
        return [
            *_differences(given.resolved(), self.scenario.resolved()),
            *(f"{FILES}.{name}: other content" for name in _changed(given.files(), self.scenario.files())),
            *_differences(_file_of(testbed), _file_of(self.testbed)),
        ]


def _blocks_of(stored: dict[str, JsonValue]) -> list[int] | None:
    blocks = stored.get("blocks")
    return [block for block in blocks if isinstance(block, int)] if isinstance(blocks, list) else None


def _testbed_of(stored: dict[str, JsonValue], path: Path) -> TestbedFile | None:
    machines = stored.get("testbed")
    file = machines.get("file") if isinstance(machines, dict) else None
    if file is None:
        return None
    if not isinstance(file, dict):
        raise InputError(f"{path}: testbed.file is not a mapping")
    return testbed_of(Document(path, file))


def _file_of(testbed: TestbedFile | None) -> dict[str, JsonValue]:
    return {} if testbed is None else {"testbed file": testbed.as_json()}


def _differences(typed: JsonValue, stored: JsonValue, at: str = "") -> Iterator[str]:
    """Each key that has another value; nothing counts as a mapping without keys."""
    if isinstance(typed, dict | None) and isinstance(stored, dict | None) and (typed or stored):
        typed, stored = typed or {}, stored or {}
        for key in dict.fromkeys([*typed, *stored]):
            yield from _differences(typed.get(key), stored.get(key), f"{at}.{key}" if at else str(key))
    elif typed != stored:
        yield f"{at}: {_shown(typed)} typed, {_shown(stored)} stored"


def _shown(value: JsonValue) -> str:
    return "nothing" if value is None else json.dumps(value)


def _changed(typed: dict[str, bytes], stored: dict[str, bytes]) -> list[str]:
    return [name for name in dict.fromkeys([*typed, *stored]) if typed.get(name) != stored.get(name)]


def _check_hands(directory: Path, owners: Collection[int]) -> None:
    """Raise InputError where anybody else than `owners` may change the result, or it has what no result has."""
    below = (Path(at) / name for at, *names in os.walk(directory) for name in chain(*names))
    for place in chain([directory], below):
        with contextlib.suppress(FileNotFoundError):  # what a campaign at work has just replaced
            kind = place.lstat().st_mode
            if not (stat.S_ISDIR(kind) or stat.S_ISREG(kind)):
                raise InputError(f"{place}: a result has only files and directories; remove it, then resume")
            if (problem := distrust(place, owners)) is not None:
                raise InputError(
                    f"{problem}, and resuming a result runs the programs it names; inspect {directory}, then take it "
                    f"over: chown -R {os.geteuid()} {directory} && chmod -R go-w {directory}"
                )
