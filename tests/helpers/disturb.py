"""What is done to a campaign that shall notice it: the fixtures `in_the_trial` and `before_its_frames` say when."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.helpers.records import owned_processes

Act = Callable[[str], Any]
"""What is done; it is given the run's name, which its namespaces begin with."""


def within(namespace: str, script: str) -> None:
    """Run shell commands in a network namespace."""
    subprocess.run(["nsenter", f"--net=/run/netns/{namespace}", "sh", "-ec", script], check=True)


def bpf_program(path: Path, section: str, body: str, helpers: str = "") -> Path:
    """Compile a BPF program of one function to `path`; `body` may use `context` and the `helpers` declared."""
    source = f"""
    {helpers}
    __attribute__((section("{section}"), used)) int foreign(void *context) {{ {body} }}
    char licence[] __attribute__((section("license"), used)) = "GPL";
    """
    command = ["clang", "-target", "bpf", "-O2", "-c", "-x", "c", "-", "-o", path]
    subprocess.run(command, input=source, text=True, check=True)
    return path


def source_of(run: str) -> int:
    """The process id of the source's agent."""
    owned = owned_processes(run)
    (source, *_) = [detail.pid for detail in reversed(owned) if detail.name == "source"]
    return source


def hold_source(run: str, held_s: float) -> None:
    """Stop the source's agent for this time or a little longer: it neither runs nor waits for a CPU."""
    source = source_of(run)
    os.kill(source, signal.SIGSTOP)
    while not _stopped(source):  # a thread within the kernel, or on a CPU that is away itself, stops later
        time.sleep(0.0001)
    time.sleep(held_s)
    os.kill(source, signal.SIGCONT)


def _stopped(pid: int) -> bool:
    """Whether all threads of a process have stopped (proc_pid_stat(5))."""
    states = [
        stat.read_text().rpartition(")")[2].split()[0] for stat in Path(f"/proc/{pid}/task").glob("*/stat")
    ]
    return set(states) == {"T"}
