"""What a testbed's controller does with a block: measures it in a process of its own, and delivers it as bytes.

What a block has measured stays on the testbed's disk until the campaign has ended: a controller that is started again
goes on with it. The process ends with its standard input, so that it outlives neither a killed controller nor a
campaign that wants the block no more.
"""

import contextlib
import io
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from threading import Lock, Thread
from typing import TypedDict

from distributed import Worker, get_worker
from distributed.core import Status
from pydantic import JsonValue

import vtax
from vtax.inputs.needs import NeedKind
from vtax.results import FILES, ResultWriter
from vtax.results.manifest import read_manifest

RESOURCE = "testbed"
"""What a worker has one of: a block at a time."""
KEPT_S = 7 * 24 * 3600.0
"""How long what was measured for a campaign that came to no end stays on a testbed."""
LOOK_S = 0.5
"""How often it is looked whether the block is still wanted."""
LAST_WORDS = 5

_lock = Lock()
_in_use: set[Path] = set()
_forgotten: set[Path] = set()


class Order(TypedDict):
    """A campaign, as a testbed needs to know it: `manifest` is what campaign.json holds before the first trial."""

    id: str
    manifest: dict[str, JsonValue]
    files: dict[str, bytes]
    allow: list[NeedKind]
    """What its user has granted."""
    run_with: list[str]
    testbed: str | None


class UnfitTestbedError(Exception):
    """This testbed cannot take part in the campaign; the message says why."""


class BlockFailedError(Exception):
    """The block came to no end; the message says why."""


def measure(order: Order, block: int) -> bytes:
    """Measure a block of a campaign on this worker's testbed, or what is left of it; returns its result, packed.

    Raises UnfitTestbedError or BlockFailedError.
    """
    if order["manifest"]["vtax_version"] != vtax.__version__:
        raise UnfitTestbedError(
            f"it has vtax {vtax.__version__}, and the campaign is of vtax {order['manifest']['vtax_version']}; "
            "install that there"
        )
    home = _home(order["id"], str(get_worker().name))
    _forget_old(home.parent)
    with _kept(home):
        directory = home / f"block-{block:04d}"
        if not directory.exists():
            _begin(directory, order, block)
        last_words = "" if _is_complete(directory) else _carry_out(directory, order)
        if not _is_complete(directory):
            raise BlockFailedError(last_words or "it ended without a word")
        return pack(directory)


def forget(campaign_id: str, dask_worker: Worker) -> None:
    """Remove what was measured here for a campaign that has ended, at the latest when its last block has."""
    home = _home(campaign_id, str(dask_worker.name))
    with _lock:
        _forgotten.add(home)
        if home not in _in_use:
            shutil.rmtree(home, ignore_errors=True)


def pack(directory: Path) -> bytes:
    """All of a result but what its campaign was given; its parts are compressed already."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as packed:
        for path in sorted(directory.rglob("*")):
            name = path.relative_to(directory)
            # Hidden files are the writer's own: the lock, and what it had not finished.
            if path.is_file() and name.parts[0] != FILES and not name.name.startswith("."):
                packed.write(path, name)
    return buffer.getvalue()


def unpack(content: bytes, directory: Path) -> None:
    """Write a delivered result into `directory`; what is no result raises ValueError or OSError."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            packed.extractall(directory)
    except zipfile.BadZipFile as error:
        raise ValueError(f"no packed result: {error}") from None


def _home(campaign_id: str, testbed: str) -> Path:
    """Where a testbed keeps what it measured for a campaign; testbeds may share a home directory."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "vtax" / "blocks" / testbed / campaign_id


@contextlib.contextmanager
def _kept(home: Path) -> Iterator[None]:
    """Keep what is there while it is used."""
    with _lock:
        _in_use.add(home)
    try:
        yield
    finally:
        with _lock:
            _in_use.discard(home)
            if home in _forgotten:
                shutil.rmtree(home, ignore_errors=True)


def _forget_old(testbed: Path) -> None:
    for home in testbed.glob("*"):
        if time.time() - home.stat().st_mtime > KEPT_S:
            shutil.rmtree(home, ignore_errors=True)


def _begin(directory: Path, order: Order, block: int) -> None:
    """An empty result that is to have this block."""
    new = directory.with_name(f".{directory.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    with ResultWriter.create(new, {**order["manifest"], "blocks": [block]}) as writer:
        writer.keep_files(order["files"])
    for path in (
        new,
        *new.rglob("*"),
    ):  # whatever the umask: root goes on with no result that others may write to
        path.chmod(path.stat().st_mode & ~0o022)
    new.rename(directory)


def _is_complete(directory: Path) -> bool:
    return read_manifest(directory).get("status") == "complete"


def _carry_out(directory: Path, order: Order) -> str:
    """Run the process that measures, to its end or until nobody wants the block; returns its last words."""
    # -P: else a module of the directory that the worker was started in would run with the rights of `run_with`.
    command = [*order["run_with"], sys.executable, "-P", "-m", "vtax.cluster.block", str(directory)]
    if order["allow"]:
        command += ["--allow", ",".join(order["allow"])]
    if order["testbed"] is not None:
        command += ["--testbed", order["testbed"]]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    lines: deque[str] = deque(maxlen=LAST_WORDS)
    reader = Thread(target=lambda: lines.extend(process.stderr or ()), daemon=True)
    reader.start()
    with process:
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_S)
                break
            if process.stdin is not None and not process.stdin.closed and not _is_wanted():
                process.stdin.close()
                with contextlib.suppress(
                    PermissionError
                ):  # of another user's process, which nobody has stopped
                    process.send_signal(signal.SIGCONT)
        reader.join()
    return " ".join(line.strip() for line in lines)


def _is_wanted() -> bool:
    """Whether this task's block still is: Dask cannot stop a thread, and tells by states that it would."""
    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    return task is not None and task.state != "cancelled" and worker.status is Status.running
