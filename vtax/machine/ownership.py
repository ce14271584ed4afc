"""What a run has made on this machine, written down before it is made.

The record is a file of JSON lines under /run/vtax. Clean-up goes by it in reverse order and by nothing else, so
a thing that merely looks like ours is never touched; a record whose run was killed is cleaned at the next start. A line
names a thing by its kind. How that is removed is code, not in the record.
"""

import logging
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Annotated

import msgspec
from msgspec import Meta, Raw, Struct

from vtax.inputs import one_line
from vtax.machine.pidfd import await_end, process_start, stop_process
from vtax.machine.state import (
    STATE_DIRECTORY,
    make_directory,
    make_state_directory,
    open_private,
    require_own,
)

REMOVAL_LIMIT_S = 30.0
"""How long the removal of one thing may take."""

SHOWN = 200
"""Characters of an entry that is refused."""

log = logging.getLogger(__name__)

Words = Annotated[str, Meta(max_length=4096)]
"""What is printed and nothing else."""
Name = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_][A-Za-z0-9_.-]*\Z", max_length=255)]
"""What may be an argument of a command or a file's name: no option, no path."""


class Owned(Struct, frozen=True, tag_field="kind", forbid_unknown_fields=True):
    """A thing that a run makes, as a line of its record names it.

    Each kind is a subclass with a tag, beside the code that makes such things. A later process knows it as soon as it
    has imported that.
    """

    name: Words

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"

    @property
    def kind(self) -> str:
        """What it is, in a word or two."""
        return str(self.__struct_config__.tag)

    def problem(self, state: Path) -> str | None:
        """Return why nothing is to be removed by this entry of a record in `state`; None where nothing is wrong."""
        return None

    @property
    def needs(self) -> Sequence[Path]:
        """What must stay until it is removed, such as a runtime's state or the namespace that it is in."""
        return ()

    @property
    def place(self) -> Path | None:
        """Where it is, for a thing that others may be in or need; None for one that nothing else needs."""
        return None

    def is_there(self) -> bool:
        """Return whether there is anything to remove. May raise anything."""
        raise NotImplementedError

    def remove(self) -> None:
        """Remove it. May raise anything, with what is in the way."""
        raise NotImplementedError


class Process(Owned, frozen=True, tag="process"):
    """A process by id and start time, so that a recycled id is never signalled."""

    pid: Annotated[int, Meta(ge=1)]
    started: Annotated[int, Meta(ge=0)]

    def is_there(self) -> bool:
        """See Owned."""
        return not await_end(self.pid, self.started, 0.0)

    def remove(self) -> None:
        """See Owned."""
        stop_process(self.pid, self.started)


class Directory(Owned, frozen=True, tag="directory"):
    """A directory of a run, beside its record."""

    def problem(self, state: Path) -> str | None:
        """No other directory is removed."""
        path = Path(self.name)
        return None if path.parent == state and path.name != ".." else f"it is not in {state}"

    @property
    def place(self) -> Path:
        """See Owned."""
        return Path(self.name)

    def is_there(self) -> bool:
        """See Owned."""
        return Path(self.name).exists()

    def remove(self) -> None:
        """See Owned."""
        shutil.rmtree(self.name, ignore_errors=True)
        if self.is_there():
            shutil.rmtree(self.name)  # says what is in the way


@dataclass(frozen=True)
class Refused:
    """An entry that nothing is removed by: of an unknown kind, or with a name that its kind cannot have."""

    line: bytes
    kind: str
    name: str
    problem: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()


class _Any(Struct):
    kind: str
    name: Raw = Raw(b"")


Entry = Owned | Refused


class OwnershipRecord:
    """The record of one run. `add` comes before the thing is made, `clean` removes all that is still there."""

    def __init__(self, run: str, directory: Path = STATE_DIRECTORY) -> None:
        self.run = run
        self.path = directory / f"{run}.owned"
        self.scratch = directory / run
        self.failed: list[tuple[Entry, Exception]] = []
        """What the last `clean` could not remove, and why; still in the record, for the next one."""
        self._writing = Lock()

    def open(self) -> None:
        """Start the record; the run's scratch directory is the first thing it owns."""
        make_state_directory(self.path.parent)
        self.add(Directory(str(self.scratch)))
        make_directory(self.scratch)

    def add(self, thing: Owned) -> None:
        """Write down a thing that is about to be made.

        Raises ValueError for a name that it cannot have, OSError where the entry does not fit. Then the thing must
        not be made.
        """
        line = msgspec.json.encode(thing)
        entry = self._read(line)
        if isinstance(entry, Refused):
            raise ValueError(f"{entry}: {entry.problem}")
        # A part of a line may be there after an earlier failure. The next line begins anew.
        with self._writing, os.fdopen(open_private(self.path), "a+b") as record:
            end = record.seek(0, os.SEEK_END)
            torn = end > 0 and os.pread(record.fileno(), 1, end - 1) != b"\n"
            record.write(b"\n" * torn + line + b"\n")

    def forget(self, thing: Owned) -> None:
        """Strike out a thing that has been removed, and may be somebody else's from now on."""
        with self._writing:
            self._keep([entry for entry in self.entries() if entry != thing])

    def add_process(self, pid: int, name: str) -> None:
        """Write down a process by id and start time."""
        self.add(Process(name, pid, process_start(pid)))

    def entries(self) -> list[Entry]:
        """All that was written down, oldest first; raises InputError for a record that others may have written.

        What is no entry is passed over: a line cut short by a crash was never acted on.
        """
        if not self.path.exists():
            return []
        require_own(self.path)
        lines = self.path.read_bytes().splitlines()
        return [entry for line in lines if (entry := self._read(line)) is not None]

    def clean(self) -> list[Owned]:
        """Remove what is still there, newest first; returns what had to be removed.

        Whatever cannot be removed is named in `failed` and in the log, and stays in the record; the rest goes. Raises
        InputError, and removes nothing, for a record that others may have written.
        """
        removed, self.failed = [], []
        for entry in reversed(self.entries()):
            try:
                if isinstance(entry, Refused):
                    raise ValueError(entry.problem)
                if entry.is_there():
                    self._remove(entry)
                    removed.append(entry)
            except Exception as error:  # whatever one removal meets, the others are still due
                self.failed.append((entry, error))
                log.warning("%s is still there: %s: %s", entry, type(error).__name__, error)
        with self._writing:
            self._keep([entry for entry, _ in reversed(self.failed)])
        return removed

    def _remove(self, thing: Owned) -> None:
        """Remove a thing; raises OSError where it is still there, or is needed by what is."""
        if (place := thing.place) is not None:
            for user, _ in self.failed:
                if isinstance(user, Refused) or any(path.is_relative_to(place) for path in user.needs):
                    raise OSError(f"{user} may need it")
        thing.remove()
        if thing.is_there():
            raise OSError("its removal has changed nothing")

    def _read(self, line: bytes) -> Entry | None:
        """The entry of a line; None where it is none."""
        try:
            any_kind = msgspec.json.decode(line, type=_Any)
        except (msgspec.DecodeError, RecursionError):  # the latter for deep nesting
            return None
        known = {each.__struct_config__.tag: each for each in Owned.__subclasses__()}
        if any_kind.kind not in known:
            return self._refused(line, any_kind, "this vtax knows no such thing")
        try:
            thing = msgspec.json.decode(line, type=known[any_kind.kind])
        except (msgspec.DecodeError, RecursionError) as error:
            return self._refused(line, any_kind, str(error))
        problem = thing.problem(self.path.parent)
        return thing if problem is None else self._refused(line, any_kind, problem)

    def _refused(self, line: bytes, entry: _Any, problem: str) -> Refused:
        kind, name = entry.kind, bytes(memoryview(entry.name)).decode(errors="replace").strip('"')
        problem = f"{problem}; remove it by hand, then its line in {self.path}"
        return Refused(line, one_line(kind)[:SHOWN], one_line(name)[:SHOWN], problem)

    def _keep(self, entries: list[Entry]) -> None:
        """Make the record hold `entries` only, at once; without any, it is gone."""
        if not entries:
            self.path.unlink(missing_ok=True)
            return
        lines = [
            entry.line if isinstance(entry, Refused) else msgspec.json.encode(entry) for entry in entries
        ]
        # Not named *.owned: a rewrite that is cut short must not pass for a record.
        temporary = self.path.with_suffix(".rewritten")
        temporary.unlink(missing_ok=True)
        with os.fdopen(open_private(temporary), "wb") as rewritten:
            rewritten.write(b"".join(line + b"\n" for line in lines))
        temporary.replace(self.path)


def outside(state: Path, *paths: str) -> str | None:
    """Return which of the paths is not below the directory of records; None where all are."""
    for path in map(Path, paths):
        if not path.is_relative_to(state) or ".." in path.parts:
            return f"{path} is not in {state}"
    return None


def remove_quietly(thing: Owned) -> None:
    """Remove a thing that is in a record already; what cannot be removed now stays there."""
    try:
        thing.remove()
    except Exception:
        log.debug("%s stays in its record", thing, exc_info=True)


def run_removal(command: Sequence[str]) -> None:
    """Run a command that removes something; raises OSError with what it complains of."""
    done = subprocess.run(
        command,
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=REMOVAL_LIMIT_S,
    )
    if done.returncode:
        raise OSError(done.stderr.strip() or f"{shlex.join(command)} exited {done.returncode}")


def stale_records(directory: Path = STATE_DIRECTORY) -> list[OwnershipRecord]:
    """Records left by earlier runs; only valid while the host lock is held, as then no run is alive."""
    return [OwnershipRecord(path.stem, directory) for path in sorted(directory.glob("*.owned"))]
