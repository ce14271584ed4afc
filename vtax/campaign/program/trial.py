"""One trial of programs: start the server, run the client, collect what both have told."""

from dataclasses import dataclass
from datetime import UTC, datetime

from vtax.agent_api import (
    AgentApi,
    ClientCollectAnswer,
    ClientRunParams,
    ClientSamplesParams,
    Command,
    ProgramStatus,
    ServerOpenParams,
)
from vtax.campaign.closing import closing
from vtax.campaign.ends import End
from vtax.campaign.observe import observe
from vtax.campaign.program.path import ProgramPath
from vtax.campaign.supervise import supervised
from vtax.campaign.timed_run import TimedRun
from vtax.machine.agent import UNTRUE, AgentBreach
from vtax.machine.cpu_latency import cpu_latency_held
from vtax.machine.series import Part, read_series
from vtax.scenario import Cell, Program
from vtax.testbed.guest_state import GuestState

GRACE_S = 20.0
"""What an answer may take beyond the time that a program has."""


@dataclass
class Timed(TimedRun):
    """Everything one run brought home."""

    client: ClientCollectAnswer | None = None
    server: ProgramStatus | None = None
    """Its state after the run."""

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
    serve = ServerOpenParams(
        command=command(work.server, work, address),
        ready=work.ready,
        timeout_ms=round(1000 * work.ready_s),
    )
    run = ClientRunParams(
        command=command(work.client, work, address),
        iterations=work.iterations,
        timeout_ms=round(1000 * work.run_s),
    )
    patience_s = work.run_s + GRACE_S
    with closing(server.api.server_close, client.api.client_close):
        server.api.server_open(serve, work.ready_s + GRACE_S)
        before = path.testbed.uut.counters(path.uut_cpus)
        running = client.api.begin_client_run(run)
        with supervised([server], AgentApi.begin_server_watch, client, patience_s):
            ended = running(patience_s)
            measured.cpu = (before, path.testbed.uut.counters(path.uut_cpus))
        measured.times_ns = ended.start_ns, ended.end_ns
        measured.server = server.api.server_collect()
        measured.client = client.api.client_collect()
        measured.ns = _samples(client, measured.client.samples, work.iterations)
        measured.undone = {at: "failed" for at, ns in enumerate(measured.ns) if ns is None}


def command(argv: list[str], work: Program, address: str) -> Command:
    """A command as the agent takes it: `{address}`, `{port}` and `{iterations}` in its words are those of the trial."""
    values = work.values(address)
    words = list(argv)
    for name, value in values.items():
        words = [word.replace(f"{{{name}}}", value) for word in words]
    environment = {f"VTAX_{name.upper()}": value for name, value in values.items()}
    return Command(argv=words, environment=environment)


def _samples(client: End, count: int, most: int) -> list[int | None]:
    """Return all samples; a line holds some at a time."""

    def ask(first: int, timeout_s: float) -> Part[int | None]:
        answer = client.api.client_samples(ClientSamplesParams(first=first), timeout_s)
        return answer.ns, answer.samples

    ns = read_series(client.agent, "client.samples", "ns", most, ask)
    if len(ns) != count:
        problem = f"samples: {count}, and client.samples has {len(ns)}"
        raise AgentBreach(client.agent, "answered client.collect", problem, UNTRUE)
    return ns
