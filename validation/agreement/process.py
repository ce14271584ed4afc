"""Other tools as processes in the namespaces of a run: owned by it, ended by their ids."""

import contextlib
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from vtax.machine.ownership import OwnershipRecord
from vtax.machine.pidfd import process_start, stop_process
from vtax.testbed.host import Host

TIMEOUT_S = 30.0
LOOK_S = 0.01


class ToolFailed(Exception):  # noqa: N818 - it states what the tool did
    """A tool ended with an error, or said nothing that could be read: its command and its words."""


def run(host: Host, cpu: int, *command: str) -> str:
    """Run a tool in a host's namespace on one CPU; returns what it printed. Raises ToolFailed."""
    full = within(host, cpu, command)
    done = subprocess.run(full, check=False, capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode != 0:
        raise ToolFailed(
            f"{' '.join(command)} exited {done.returncode}: {done.stdout.strip()} {done.stderr.strip()}"
        )
    return done.stdout


@contextlib.contextmanager
def started(
    host: Host, record: OwnershipRecord, cpu: int, ready: str, log: Path, *command: str
) -> Iterator["subprocess.Popen[bytes]"]:
    """A tool that runs in the background, from when its log says `ready` to the end of the block."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            within(host, cpu, command), stdout=output, stderr=subprocess.STDOUT, process_group=0
        )
    record.add_process(process.pid, command[0])
    try:
        wait_until_said(process, log, ready)
        yield process
    finally:
        stop_process(process.pid, process_start(process.pid))
        process.wait(TIMEOUT_S)


def wait_until_said(process: "subprocess.Popen[bytes]", log: Path, words: str) -> str:
    """Wait until a tool's log holds `words`; returns the log. Raises ToolFailed."""
    for _ in range(round(TIMEOUT_S / LOOK_S)):
        said = log.read_text(errors="replace")
        if words in said:
            return said
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(LOOK_S)
            break
    raise ToolFailed(f"{log.stem} never said {words!r}: {log.read_text(errors='replace')}")


def within(host: Host, cpu: int, command: Sequence[str]) -> list[str]:
    """The command as it is run in a host's namespace on one CPU."""
    return ["nsenter", f"--net={host.namespace.path}", "--", "taskset", "-c", str(cpu), *command]
