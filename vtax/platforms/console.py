"""What a guest said last: its kernel on the console, its programs in a log. However much it says, the end is kept."""

import contextlib
import os
import re
import select
import threading
from collections.abc import Iterator
from pathlib import Path

TELLING = re.compile(r"(?<!end )Kernel panic.*|Out of memory.*|Oops.*|BUG:.*")
"""What a kernel says when it ends or kills; a panic's last line repeats its first."""
LINES_AFTER = 25
"""A kernel's panic and its call trace."""
LINES = 10
MOST_BYTES = 1 << 20


PIECE_BYTES = 1 << 16
"""As much as a pipe holds."""


class _Drain:
    """Takes what comes out of a pipe to a file, of which the last mebibyte stays."""

    def __init__(self, source: int, path: Path) -> None:
        self._source, self._path = source, path
        self._lock = threading.Lock()
        self._ended = False
        path.unlink(missing_ok=True)  # a process that is gone from here may still write to the one before
        self._file = path.open("wb")
        os.set_blocking(source, False)
        threading.Thread(target=self._run, name=f"drain {path.name}", daemon=True).start()

    def settle(self) -> None:
        """Take what is in the pipe by now."""
        with self._lock:
            if not self._ended:
                self._take()

    def _run(self) -> None:
        poller = select.poll()
        poller.register(self._source, select.POLLIN)
        while not self._ended:
            poller.poll()
            self.settle()
        # Here alone, so that nobody waits for a descriptor that is meanwhile another one.
        os.close(self._source)
        self._file.close()
        if _drains.get(self._path) is self:
            del _drains[self._path]

    def _take(self) -> None:
        try:
            piece = os.read(self._source, PIECE_BYTES)
        except BlockingIOError:
            return
        self._ended = not piece
        with contextlib.suppress(OSError):  # a full disk takes the words, not the guest
            self._keep(piece)

    def _keep(self, piece: bytes) -> None:
        self._file.write(piece)
        self._file.flush()
        if self._file.tell() > 2 * MOST_BYTES:
            # Readers have the old file or the new one, never half of one.
            rest = self._path.with_name(f"{self._path.name}.rest")
            with self._path.open("rb") as old:
                old.seek(-MOST_BYTES, os.SEEK_END)
                rest.write_bytes(old.read())
            self._file.close()
            rest.replace(self._path)
            self._file = self._path.open("ab")


_drains: dict[Path, _Drain] = {}
"""Files that are still being written here."""


@contextlib.contextmanager
def bounded(path: Path) -> Iterator[int]:
    """Where to say what the end of is kept in `path`: a descriptor, closed again once somebody has copies."""
    source, sink = os.pipe2(os.O_CLOEXEC)
    try:
        _drains[path] = _Drain(source, path)
        yield sink
    finally:
        os.close(sink)


def last_words(console: Path) -> str:
    """The last telling line and what follows it, or the last few lines; empty where there is no console."""
    if not console.exists():
        return ""
    lines = _end_of(console)
    telling = [at for at, line in enumerate(lines) if TELLING.search(line)]
    return "\n".join(lines[telling[-1] :][:LINES_AFTER] if telling else lines[-LINES:])


def telling_line(words: str) -> str | None:
    """What a kernel said when it ended or killed, without its time stamp; None where it said nothing of the kind."""
    found = TELLING.findall(words)
    return found[-1].strip() if found else None


def tail(log: Path, lines: int = LINES) -> str:
    """The last lines of a log, empty if there is none."""
    if not log.exists():
        return ""
    return "\n".join(_end_of(log)[-lines:])


def _end_of(log: Path) -> list[str]:
    """The last lines of a log, which a guest may have made as long as it likes."""
    if (drain := _drains.get(log)) is not None:
        drain.settle()
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - MOST_BYTES))
        return file.read(MOST_BYTES).decode(errors="replace").splitlines()
