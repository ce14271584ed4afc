"""What makes a machine slow: a quota of the source's CPU time, or another's thread beside a role's."""

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

from validation.quota import quota
from validation.trials import Machine
from vtax.machine.pidfd import process_start, stop_process
from vtax.testbed.accounts import Account
from vtax.trial.interference import TAKEN, THROTTLED
from vtax.workloads.forwarding.measure.instrument import WAITED
from vtax.workloads.forwarding.measure.path import ForwardingPath

PERIOD_US: Final = 25_000
BESIDE_UUT_US: Final = 1_900
"""Of each period of a CPU, that a competing thread may have: as much as makes a trial suspect, not invalid."""
BESIDE_SOURCE_US: Final = 2_300
"""The same beside the source, which misses its CPU only while it does not sleep."""
KEPT_US: Final = 7_500
"""Of each period, that the source may have: less than it needs for any flood here."""
MEMORY_BYTES: Final = 256 << 20

SPIN: Final = "while True: pass"
COPY: Final = f"""
memory = memoryview(bytearray({MEMORY_BYTES}))
while True:
    memory[: {MEMORY_BYTES // 2}] = memory[{MEMORY_BYTES // 2} :]
"""

Begin = Callable[[ForwardingPath, Machine], AbstractContextManager[None]]


@dataclass(frozen=True)
class Cause:
    """What slows the machine while its block lasts, and the words of a reason that names it."""

    name: str
    words: str
    begin: Begin


@contextlib.contextmanager
def _quota_of_the_source(path: ForwardingPath, machine: Machine) -> Iterator[None]:
    processes = path.testbed.source.owners()["processes"]
    (source,) = (pid for pid, whose in processes.items() if whose == Account.of_agent("source"))
    with quota("slowed", KEPT_US, PERIOD_US) as group:
        (group / "cgroup.procs").write_text(f"{source}")
        yield


def _beside(role: str, quota_us: int, script: str) -> Begin:
    """Have a thread that is no descendant of this process compete on a role's CPU."""

    @contextlib.contextmanager
    def compete(path: ForwardingPath, machine: Machine) -> Iterator[None]:
        cpu = f"{machine.cpus[role][0]}"
        command = ["taskset", "-c", cpu, sys.executable, "-c", script]
        alone = ["setsid", "sh", "-c", '"$@" </dev/null >/dev/null 2>&1 & echo $!', "sh", *command]
        pid = int(subprocess.run(alone, check=True, capture_output=True, text=True, timeout=30).stdout)
        start = process_start(pid)
        machine.record.add_process(pid, "competing thread")
        try:
            with quota("slowed", quota_us, PERIOD_US) as group:
                (group / "cgroup.procs").write_text(f"{pid}")
                yield
        finally:
            stop_process(pid, start)

    return compete


CAUSES: Final = (
    Cause("quota", THROTTLED, _quota_of_the_source),
    Cause("competing thread", TAKEN, _beside("host", BESIDE_UUT_US, SPIN)),
    Cause("memory load", WAITED, _beside("agents", BESIDE_SOURCE_US, COPY)),
)
