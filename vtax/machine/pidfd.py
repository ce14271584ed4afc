"""Processes by id and start time, held by descriptor (pidfd_open(2)): a recycled id is never another's end."""

import contextlib
import errno
import os
import select
import signal
from collections.abc import Iterator
from pathlib import Path

KILL_PATIENCE_S = 5.0
"""How long the kernel may take to end a process that is killed."""


NO_PROCESS = (errno.ESRCH, errno.EINVAL, errno.ENOENT)
"""What pidfd_open answers where nobody has an id, and where a thread has it (before and since Linux 6.15)."""


def process_start(pid: int) -> int:
    """Start time of a process in clock ticks since boot, 0 if it is gone (proc(5), field 22 of stat)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(stat.rpartition(")")[2].split()[19])


def stop_process(pid: int, started: int, *, grace_s: float = 1.0) -> bool:
    """End a process that we started: SIGTERM, then SIGKILL after `grace_s`; True if it was still running."""
    with _opened(pid, started) as process:
        if process is None:
            return False
        for number, patience_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, KILL_PATIENCE_S)):
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(process, number)
            if _ends(process, patience_s):
                break
    return True


def await_end(pid: int, started: int, limit_s: float) -> bool:
    """Return whether a process has ended after at most so long."""
    with _opened(pid, started) as process:
        return process is None or _ends(process, limit_s)


@contextlib.contextmanager
def _opened(pid: int, started: int) -> Iterator[int | None]:
    """A descriptor of a process that runs and was started then; None where there is no such one."""
    process = None
    if started:
        try:
            process = os.pidfd_open(pid)
        except OSError as error:
            if error.errno not in NO_PROCESS:
                raise
    if process is None:
        yield None
        return
    try:
        # Only now: of the process that the descriptor is of, or of one that has its id since that one's end.
        same = process_start(pid) == started
        yield process if same and not _ends(process, 0.0) else None
    finally:
        os.close(process)


def _ends(process: int, patience_s: float) -> bool:
    """Whether a process ends in time; one that nobody has waited for has ended."""
    end = select.poll()
    end.register(process, select.POLLIN)
    return bool(end.poll(1000 * patience_s))
