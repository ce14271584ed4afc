"""One trial of programs: start the server, run the client, collect what both have told."""

import contextlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from vtax.campaign.ends import End
from vtax.campaign.observe import observe
from vtax.campaign.program.path import ProgramPath
from vtax.campaign.supervise import supervised
from vtax.campaign.timed_run import TimedRun
from vtax.machine.agent import AgentError, AgentGone
from vtax.machine.cpu_latency import cpu_latency_held
from vtax.scenario import Cell, Program
from vtax.testbed.guest_state import GuestState

GRACE_S = 20.0
"""What an answer may take beyond the time that a program has."""


@dataclass
class Timed(TimedRun):
    """Everything one run brought home; `run` is the reply of `client.run`."""

    client: dict[str, Any] = field(default_factory=dict)
    """`client.collect`"""
    server: dict[str, Any] = field(default_factory=dict)
    """`server.collect` after the run."""

    @property
    def work(self) -> Program:
        """What was asked of it."""
        return self.cell.program


def measure(
    path: ProgramPath, cell: Cell, trial: int, guests: dict[str, GuestState], *, emulated: bool
) -> Timed:
    """Measure `cell` on a ready path whose guests stand so. Never raises for what agents do: that is in `failure`."""
    measured = Timed(trial, cell, datetime.now(UTC))
    with cpu_latency_held():
        observe(path, measured, guests, lambda: _run(path, measured), emulated=emulated)
    return measured


def _run(path: ProgramPath, measured: Timed) -> None:
    work = measured.work
    client, server, address = path.places
    serve = {
        "command": command(work.server, work, address),
        "ready": work.ready,
        "timeout_ms": round(1000 * work.ready_s),
    }
    run = {
        "command": command(work.client, work, address),
        "iterations": work.iterations,
        "timeout_ms": round(1000 * work.run_s),
    }
    patience_s = work.run_s + GRACE_S
    with contextlib.ExitStack() as closing:
        closing.callback(_close, client, "client")
        closing.callback(_close, server, "server")
        server.call("server.open", serve, work.ready_s + GRACE_S)
        before = path.testbed.uut.counters(path.uut_cpus)
        running = client.host.begin(client.agent, "client.run", run)
        with supervised([server], "server.watch", client, patience_s):
            measured.run = client.host.finish(running, patience_s)
            measured.cpu = (before, path.testbed.uut.counters(path.uut_cpus))
        measured.server = server.call("server.collect", {})
        measured.client = client.call("client.collect", {})
        _take_samples(client, measured)


def command(argv: list[str], work: Program, address: str) -> dict[str, Any]:
    """A command as the agent takes it: `{address}`, `{port}` and `{iterations}` in its words are those of the trial."""
    values = work.values(address)
    words = list(argv)
    for name, value in values.items():
        words = [word.replace(f"{{{name}}}", value) for word in words]
    return {"argv": words, "environment": {f"VTAX_{name.upper()}": value for name, value in values.items()}}


def _take_samples(client: End, measured: Timed) -> None:
    while len(measured.ns) < measured.client["samples"]:
        measured.ns += client.call("client.samples", {"first": len(measured.ns)})["ns"]
    measured.undone = {at: "failed" for at, ns in enumerate(measured.ns) if ns is None}


def _close(end: End, program: str) -> None:
    """What never began is closed as well; an agent that is gone has taken its programs with it."""
    with contextlib.suppress(AgentError, AgentGone):
        end.call(f"{program}.close", {})
