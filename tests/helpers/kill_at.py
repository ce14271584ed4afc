"""Runs a vtax command line and kills, with SIGKILL, its own process, an agent or the guest at a given instant.

The instants are calls that every campaign makes, before or after they are carried out, in the phases of a trial.
"""

import functools
import importlib
import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.helpers.forked import Forked, ended
from tests.helpers.records import owned_processes
from vtax.machine.state import STATE_DIRECTORY


@dataclass(frozen=True)
class Instant:
    """Before or after the `nth` call of `function`; of those with `method` among their arguments, if given."""

    phase: str
    function: str
    when: str
    nth: int
    method: str | None = None
    victim: str = "controller"
    """Or the name of a process in the ownership record."""

    def __str__(self) -> str:
        name = self.function.rpartition(":")[2]
        text = f"{self.victim} in {self.phase}: {self.when} {name} {self.method or ''} #{self.nth}"
        return text.replace("  ", " ")

    def kill(self) -> None:
        """End the victim, at once."""
        os.kill(os.getpid() if self.victim == "controller" else _newest(self.victim), signal.SIGKILL)


def _newest(name: str) -> int:
    """The process of this name that the run started last."""
    (record,) = STATE_DIRECTORY.glob("*.owned")
    owned = owned_processes(record.stem)
    return [process for process in owned if process.name == name][-1].pid


HOST = "vtax.testbed.host:Host"
CALLS = "vtax.machine.agent:_TypedCalls"
COLLECT = "vtax.trial.frames.passage:Passage.collect"
SOON = [
    Instant("prepare", f"{HOST}.start_guest", "after", 1),
    Instant("measure", f"{CALLS}.begin", "after", 2, "source.run"),
    Instant("collect", COLLECT, "after", 3),
    Instant("commit", "vtax.results.writer:write_part", "before", 8),
    Instant("commit", "vtax.results.journal:Journal.append", "before", 2),
]
FURTHER = [
    Instant("prepare", f"{HOST}.create", "before", 1),
    Instant("prepare", f"{HOST}.create", "after", 1),
    Instant("prepare", f"{HOST}.create", "after", 5),
    Instant("prepare", f"{HOST}.start_agent", "after", 1),
    Instant("prepare", f"{CALLS}.call", "after", 1, "ingress.drop"),
    Instant("prepare", f"{HOST}.open_port", "after", 3),
    Instant("prepare", f"{HOST}.start_guest", "before", 1),
    Instant("prepare", f"{CALLS}.call", "before", 1, "guest.configure"),
    Instant("prepare", f"{CALLS}.begin", "after", 1, "sink.open"),
    Instant("arm", f"{CALLS}.begin", "before", 1, "sink.arm"),
    Instant("arm", f"{CALLS}.begin", "after", 2, "sink.arm"),
    Instant("arm", f"{HOST}.interface_counters", "after", 3),
    Instant("measure", f"{CALLS}.begin", "before", 1, "source.run"),
    Instant("measure", f"{CALLS}.begin", "after", 1, "source.run"),
    Instant("measure", f"{HOST}.counters", "after", 5),
    Instant("measure", f"{HOST}.counters", "before", 6),
    Instant("prepare", "vtax.trial.frames.passage:Asked.answers", "before", 2),
    Instant("drain", COLLECT, "before", 2),
    Instant("drain", f"{CALLS}.begin", "before", 2, "sink.collect"),
    Instant("collect", COLLECT, "after", 2),
    Instant("collect", f"{HOST}.guest_state", "before", 2),
    Instant("commit", "vtax.results.writer:ResultWriter.commit", "before", 1),
    Instant("commit", "vtax.results.writer:write_part", "after", 6),
    Instant("commit", "vtax.results.journal:Journal.append", "after", 1),
    Instant("commit", f"{HOST}.close", "before", 4),
]
OTHERS_SOON = [
    Instant("arm", f"{CALLS}.begin", "after", 1, "sink.arm", victim="sink"),
    Instant("measure", f"{HOST}.counters", "after", 6, victim="source"),
    Instant("drain", COLLECT, "before", 2, victim="guest"),
]
OTHERS_FURTHER = [
    Instant(phase, function, when, nth, method, victim)
    for victim in ("source", "sink", "guest")
    for phase, function, when, nth, method in (
        ("prepare", f"{CALLS}.call", "before", 1, "guest.configure"),
        ("arm", f"{CALLS}.begin", "before", 2, "sink.arm"),
        ("measure", f"{CALLS}.begin", "after", 2, "source.run"),
        ("collect", f"{CALLS}.begin", "before", 2, "sink.collect"),
        ("commit", f"{HOST}.guest_state", "after", 2, None),
    )
]
INSTANTS = {str(instant): instant for instant in [*SOON, *FURTHER, *OTHERS_SOON, *OTHERS_FURTHER]}


def arrange(instant: Instant) -> None:
    """Wrap the function so that the process dies at the instant."""
    module_name, _, path = instant.function.partition(":")
    owner: Any = importlib.import_module(module_name)
    *parents, name = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    function: Callable[..., Any] = getattr(owner, name)
    calls = 0

    @functools.wraps(function)
    def dying(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        if instant.method is None or instant.method in arguments:
            calls += 1
        else:
            return function(*arguments, **options)
        if calls == instant.nth and instant.when == "before":
            instant.kill()
        result = function(*arguments, **options)
        if calls == instant.nth and instant.when == "after":
            instant.kill()
        return result

    setattr(owner, name, dying)


CHOSEN = ("--platform", "container")


def run_with_a_kill(instant: Instant, path: Path, out: Path) -> "subprocess.CompletedProcess[str]":
    return ended(Forked(["run", str(path), *CHOSEN, "--out", str(out)], instant=str(instant)), timeout=600)
