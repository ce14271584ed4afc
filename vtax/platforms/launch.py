"""A guest's process, its agent behind stdin and stdout: started, heard, or taken down again."""

import contextlib
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from vtax.machine.agent import Agent, AgentGone
from vtax.platforms.console import bounded
from vtax.platforms.contract import GuestPlan

DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")
"""Puts no process in between: a guest whose controller is killed before it is written down ends as well."""
OWN_PROCESSES = ("unshare", "--pid", "--fork", "--kill-child=KILL")
"""Makes what follows the first of process ids of its own: all that it starts ends with it."""


class Started(Protocol):
    """A guest whose agent has not been heard yet."""

    agent: Agent
    hello_s: float

    def last_words(self) -> str:
        """The last lines of its console."""

    def stop(self) -> None:
        """Take it down."""


def launch(
    name: str,
    command: Sequence[str],
    log: Path | None,
    descriptors: Sequence[int] = (),
    environment: Mapping[str, str] | None = None,
    window_bytes: int | None = None,
) -> Agent:
    """Start a process that leads to an agent and has copies of `descriptors`.

    The end of what it complains of is kept in `log`, nothing where that is None.
    """
    with contextlib.ExitStack() as opened:
        errors = subprocess.DEVNULL if log is None else opened.enter_context(bounded(log))
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            pass_fds=descriptors,
            process_group=0,
            env=environment,
        )
    return Agent(name, process, window_bytes)


def await_hello(guest: Started, plan: GuestPlan, begun_s: float, limit_s: float) -> None:
    """Write the guest's process down, wait for hello, and note the time since `begun_s` (monotonic).

    Raises AgentGone with the guest's last words. Whatever is raised, the guest is gone by then.
    """
    try:
        plan.record.add_process(guest.agent.process.pid, plan.name)
        guest.agent.wait_hello(limit_s)
    except AgentGone as error:
        guest.stop()
        raise AgentGone(f"{error}\n{guest.last_words()}") from None
    except BaseException:
        guest.stop()
        raise
    guest.hello_s = time.monotonic() - begun_s


def pin_vcpus(threads: Mapping[int, tuple[int, str]], cpus: Sequence[int]) -> None:
    """Give each virtual CPU among `threads` one of `cpus`, the first to the first; the other threads float on."""
    for tid, (_, component) in threads.items():
        kind, _, number = component.partition(" ")
        if cpus and kind == "vcpu":
            with contextlib.suppress(ProcessLookupError):  # the guest has ended: whoever asks it will see
                os.sched_setaffinity(tid, [cpus[int(number)]])
