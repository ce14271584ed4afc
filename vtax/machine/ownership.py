"""What a run has made on this machine, written down before it is made.

The record is a file of JSON lines under /run/vtax. Clean-up goes by it in reverse order and by nothing else, so
a thing that merely looks like ours is never touched; a record whose run was killed is cleaned at the next start.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vtax.machine.namespace import Namespace

STATE_DIRECTORY = Path("/run/vtax")


@dataclass(frozen=True)
class Owned:
    """One thing made: its kind, and what removes it."""

    kind: str
    detail: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.kind} {self.detail.get('name', '')}".strip()


class OwnershipRecord:
    """The record of one run. `add` comes before the thing is made, `clean` removes all that is still there."""

    def __init__(self, run: str, directory: Path = STATE_DIRECTORY) -> None:
        self.run = run
        self.path = directory / f"{run}.owned"
        self.scratch = directory / run

    def open(self) -> None:
        """Start the record; the run's scratch directory is the first thing it owns."""
        self.path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        self.add("directory", name=str(self.scratch))
        self.scratch.mkdir()

    def add(self, kind: str, **detail: Any) -> None:
        """Write down a thing of `kind` (a key of REMOVERS) that is about to be made."""
        with self.path.open("a") as record:
            record.write(json.dumps({"kind": kind, **detail}) + "\n")
            record.flush()

    def add_process(self, pid: int, name: str) -> None:
        """Write down a process by id and start time, so that a recycled id is never signalled."""
        self.add("process", name=name, pid=pid, started=process_start(pid))

    def entries(self) -> list[Owned]:
        """All that was written down, oldest first; a line cut short by a crash was never acted on."""
        if not self.path.exists():
            return []
        entries = []
        for line in self.path.read_text().splitlines():
            try:
                detail = json.loads(line)
            except json.JSONDecodeError:
                continue
            entries.append(Owned(detail.pop("kind"), detail))
        return entries

    def clean(self) -> list[Owned]:
        """Remove what is still there, newest first; returns what had to be removed."""
        known = [entry for entry in reversed(self.entries()) if entry.kind in REMOVERS]
        removed = [entry for entry in known if REMOVERS[entry.kind](entry.detail)]
        self.path.unlink(missing_ok=True)
        return removed


def stale_records(directory: Path = STATE_DIRECTORY) -> list[OwnershipRecord]:
    """Records left by earlier runs; only valid while the host lock is held, as then no run is alive."""
    return [OwnershipRecord(path.stem, directory) for path in sorted(directory.glob("*.owned"))]


def process_start(pid: int) -> int:
    """Start time of a process in clock ticks since boot, 0 if it is gone (proc(5), field 22 of stat)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(stat.rpartition(")")[2].split()[19])


def stop_process(pid: int, started: int, *, grace_s: float = 1.0) -> bool:
    """End a process that we started: SIGTERM, then SIGKILL after `grace_s`; True if it was still running."""
    if started == 0 or process_start(pid) != started or _is_zombie(pid):
        return False
    for number, patience_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, 5.0)):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return True
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            if process_start(pid) != started or _is_zombie(pid):
                return True
            time.sleep(0.005)
    return True


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _remove_process(detail: dict[str, Any]) -> bool:
    return stop_process(int(detail["pid"]), int(detail["started"]))


def _remove_namespace(detail: dict[str, Any]) -> bool:
    namespace = Namespace(detail["name"])
    existed = namespace.path.exists()
    namespace.remove()
    return existed


def _remove_directory(detail: dict[str, Any]) -> bool:
    path = Path(detail["name"])
    existed = path.exists()
    shutil.rmtree(path, ignore_errors=True)
    return existed


def _remove_container(detail: dict[str, Any]) -> bool:
    if not Path(detail["root"], detail["name"]).exists():
        return False
    command = [detail["runtime"], "--root", detail["root"], "delete", "--force", detail["name"]]
    subprocess.run(command, check=False, capture_output=True, timeout=30)
    return True


REMOVERS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "process": _remove_process,
    "namespace": _remove_namespace,
    "directory": _remove_directory,
    "container": _remove_container,
}
