"""What a run has made on this machine, written down before it is made.

The record is a file of JSON lines under /run/vtax. Clean-up goes by it in reverse order and by nothing else, so
a thing that merely looks like ours is never touched; a record whose run was killed is cleaned at the next start.
"""

import logging
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct

from vtax.machine.namespace import Namespace
from vtax.machine.pidfd import await_end, process_start, stop_process
from vtax.machine.state import (
    STATE_DIRECTORY,
    make_directory,
    make_state_directory,
    open_private,
    require_own,
)

COMMAND_TIMEOUT_S = 30

log = logging.getLogger(__name__)


class Thing(Struct, frozen=True):
    """A line of the record: a thing by its kind and name."""

    kind: str
    name: str


class Process(Thing, frozen=True):
    """A process by id and start time, so that a recycled id is never signalled."""

    pid: int
    started: int


class Removable(Thing, frozen=True):
    """A thing that a command removes; a second one exits 0 as long as it is there."""

    remove: list[str]
    present: list[str]


class _Commands(Struct):
    """Those of any line."""

    remove: list[str] | None = None
    present: list[str] = []


class _Kind(Struct):
    kind: str


T = TypeVar("T", bound=Struct)


class Owned(Struct, frozen=True):
    """One thing made: its kind, and the line of the record that tells what removes it."""

    kind: str
    line: Raw

    def read(self, kind: type[T]) -> T:
        """The line as what it should be; raises DecodeError where it is not."""
        return msgspec.json.decode(self.line, type=kind)

    @property
    def name(self) -> str:
        """Its name, empty where it has none."""
        try:
            return self.read(Thing).name
        except msgspec.DecodeError:
            return ""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()


Remover = Callable[[Owned], bool]
"""Removes what a record's line describes; whether it was still there."""


class OwnershipRecord:
    """The record of one run. `add` comes before the thing is made, `clean` removes all that is still there."""

    def __init__(self, run: str, directory: Path = STATE_DIRECTORY) -> None:
        self.run = run
        self.path = directory / f"{run}.owned"
        self.scratch = directory / run
        self.failed: list[tuple[Owned, Exception]] = []
        """What the last `clean` could not remove, and why; still in the record, for the next one."""

    def open(self) -> None:
        """Start the record; the run's scratch directory is the first thing it owns."""
        make_state_directory(self.path.parent)
        self.add("directory", name=str(self.scratch))
        make_directory(self.scratch)

    def add(self, kind: str, name: str) -> None:
        """Write down a thing of `kind` (a key of REMOVERS) that is about to be made."""
        self._write(Thing(kind, name))

    def add_removable(self, kind: str, name: str, *, remove: Sequence[str], present: Sequence[str]) -> None:
        """Write down a thing that a command removes; a second one exits 0 as long as it is there.

        A platform kind names its own things this way: the record alone tells a later process how to remove them.
        """
        self._write(Removable(kind, name, list(remove), list(present)))

    def _write(self, line: Thing) -> None:
        """Append a line; raises OSError where it does not fit, and then the thing must not be made.

        A part of it may be there all the same. The next line begins anew.
        """
        with os.fdopen(open_private(self.path), "a+b") as record:
            end = record.seek(0, os.SEEK_END)
            torn = end > 0 and os.pread(record.fileno(), 1, end - 1) != b"\n"
            record.write(b"\n" * torn + msgspec.json.encode(line) + b"\n")

    def add_process(self, pid: int, name: str) -> None:
        """Write down a process by id and start time, so that a recycled id is never signalled."""
        self._write(Process("process", name, pid, process_start(pid)))

    def entries(self) -> list[Owned]:
        """All that was written down, oldest first; raises InputError for a record that others may have written.

        What is no entry is passed over: a line cut short by a crash was never acted on.
        """
        if not self.path.exists():
            return []
        require_own(self.path)
        lines = self.path.read_bytes().splitlines()
        return [entry for line in lines if (entry := _parsed(line)) is not None]

    def clean(self) -> list[Owned]:
        """Remove what is still there, newest first; returns what had to be removed.

        Whatever cannot be removed is named in `failed` and in the log, and stays in the record; the rest goes. Raises
        InputError, and removes nothing, for a record that others may have written.
        """
        removed, self.failed = [], []
        for entry in reversed(self.entries()):
            try:
                self._refuse_in_use(entry)
                if _remover(entry)(entry):
                    removed.append(entry)
            except Exception as error:  # whatever one removal meets, the others are still due
                self.failed.append((entry, error))
                log.warning("%s is still there: %s: %s", entry, type(error).__name__, error)
        self._keep([entry for entry, _ in reversed(self.failed)])
        return removed

    def _refuse_in_use(self, entry: Owned) -> None:
        """Raise OSError for a directory without which something cannot be removed, such as a runtime's state."""
        if entry.kind != "directory":
            return
        for user, _ in self.failed:
            commands, directory = user.read(_Commands), entry.read(Thing).name
            words = [*(commands.remove or ()), *commands.present]
            if any(Path(word).is_relative_to(directory) for word in words):
                raise OSError(f"{user} needs it")

    def _keep(self, entries: list[Owned]) -> None:
        """Make the record hold `entries` only, at once; without any, it is gone."""
        if not entries:
            self.path.unlink(missing_ok=True)
            return
        lines = [bytes(memoryview(entry.line)) + b"\n" for entry in entries]
        # Not named *.owned: a rewrite that is cut short must not pass for a record.
        temporary = self.path.with_suffix(".rewritten")
        temporary.unlink(missing_ok=True)
        with os.fdopen(open_private(temporary), "wb") as rewritten:
            rewritten.write(b"".join(lines))
        temporary.replace(self.path)


def stale_records(directory: Path = STATE_DIRECTORY) -> list[OwnershipRecord]:
    """Records left by earlier runs; only valid while the host lock is held, as then no run is alive."""
    return [OwnershipRecord(path.stem, directory) for path in sorted(directory.glob("*.owned"))]


def _parsed(line: bytes) -> Owned | None:
    try:
        return Owned(msgspec.json.decode(line, type=_Kind).kind, Raw(line))
    except (msgspec.DecodeError, RecursionError):  # the latter for deep nesting
        return None


def _remove_process(entry: Owned) -> bool:
    process = entry.read(Process)
    pid, started = process.pid, process.started
    was_running = stop_process(pid, started)
    if not await_end(pid, started, 0.0):
        raise TimeoutError(f"process {pid} runs on after SIGKILL")
    return was_running


def _remove_namespace(entry: Owned) -> bool:
    namespace = Namespace(entry.read(Thing).name)
    existed = namespace.path.exists()
    namespace.remove()
    return existed


def _remove_directory(entry: Owned) -> bool:
    path = Path(entry.read(Thing).name)
    existed = path.exists()
    shutil.rmtree(path, ignore_errors=True)
    if path.exists():
        shutil.rmtree(path)  # says what is in the way
    return existed


def _remove_by_command(entry: Owned) -> bool:
    thing = entry.read(Removable)
    if not _is_present(thing):
        return False
    command = thing.remove
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S)
    if _is_present(thing):
        raise OSError(done.stderr.strip() or f"{shlex.join(command)} exited {done.returncode}")
    return True


def _is_present(thing: Removable) -> bool:
    done = subprocess.run(thing.present, check=False, capture_output=True, timeout=COMMAND_TIMEOUT_S)
    return done.returncode == 0


def _remover(entry: Owned) -> Remover:
    """What removes an entry; raises LookupError for one that nothing here knows."""
    if entry.read(_Commands).remove is not None:
        return _remove_by_command
    if entry.kind not in REMOVERS:
        raise LookupError(f"this vtax cannot remove a {entry.kind}")
    return REMOVERS[entry.kind]


REMOVERS: dict[str, Remover] = {
    "process": _remove_process,
    "namespace": _remove_namespace,
    "directory": _remove_directory,
}
