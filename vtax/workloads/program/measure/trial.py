"""One trial of programs: start the server, run the client, collect what both reported."""

import contextlib
from collections.abc import Iterator

from vtax.agent_api import (
    AgentApi,
    ClientCollectAnswer,
    ClientRunParams,
    ClientSamplesParams,
    Command,
    ProgramStatus,
    ServerOpenParams,
)
from vtax.machine.agent import UNTRUE, AgentBreach
from vtax.machine.series import Part, read_series
from vtax.trial.closing import closing
from vtax.trial.endpoints.path import End
from vtax.trial.run_trial import RunTrial
from vtax.trial.supervise import supervised
from vtax.trial.verdict import Finding, Verdict
from vtax.workloads.program.keys import Program
from vtax.workloads.program.measure.path import ProgramPath

GRACE_S = 20.0
"""What an answer may take beyond the time that a program has."""


class ProgramTrial(RunTrial[ProgramPath]):
    """A client's run. Iterations that failed are results; a program that ended as it should not is none."""

    iteration = "an iteration"
    none_done = "no iteration was timed"

    client: ClientCollectAnswer
    """How the client ended."""
    server: ProgramStatus
    """The server's state after the run."""

    _client: End
    _server: End
    _address: str
    """The server's."""

    @property
    def work(self) -> Program:
        """What is asked of it."""
        return self.observed.cell.of(Program)

    def open(self, path: ProgramPath, opened: contextlib.ExitStack) -> None:
        """Start the server, and wait until it is ready."""
        work, (client, server, address) = self.work, path.places
        self._client, self._server, self._address = client, server, address
        serve = ServerOpenParams(
            command=command(work.server, work, address),
            ready=work.ready,
            timeout_ms=round(1000 * work.ready_s),
        )
        opened.enter_context(closing(server.api.server_close, client.api.client_close))
        server.api.server_open(serve, work.ready_s + GRACE_S)

    @contextlib.contextmanager
    def made(self) -> Iterator[None]:
        """Run the client."""
        work = self.work
        run = ClientRunParams(
            command=command(work.client, work, self._address),
            iterations=work.iterations,
            timeout_ms=round(1000 * work.run_s),
        )
        patience_s = work.run_s + GRACE_S
        running = self._client.api.begin_client_run(run)
        with supervised([self._server], AgentApi.begin_server_watch, self._client, patience_s):
            ended = running(patience_s)
            yield
        self.times_ns = ended.start_ns, ended.end_ns

    def collect(self) -> None:
        """Take the samples, and how both stand."""
        self.server = self._server.api.server_collect()
        self.client = self._client.api.client_collect()
        self.ns = _samples(self._client, self.client.samples, self.work.iterations)
        self.undone = {at: "failed" for at, ns in enumerate(self.ns) if ns is None}

    def findings(self) -> Iterator[Finding]:
        """Yield how programs ended, and what the client reported beside what was asked."""
        work, client, server = self.work, self.client, self.server
        if server.ended is not None:
            yield Verdict.INVALID, f"the server {work.server[0]} ended: {_ending(server)}"
        elif not client.succeeded:
            yield Verdict.INVALID, f"the client {work.client[0]} ended: {_ending(client)}"
        elif not self.ns:
            yield Verdict.INVALID, f"the client {work.client[0]} reported no iteration{_last_output(client)}"
        made = len(self.ns) + client.excess
        if self.ns and made != work.iterations:
            yield (
                Verdict.SUSPECT,
                f"the client reported {made} iterations instead of {work.iterations}",
            )
        if client.garbage:
            lines = f"{client.garbage}, the first: {client.first_garbage}"
            yield Verdict.VALID, f"output lines of the client that are no samples: {lines}"


def command(argv: list[str], work: Program, address: str) -> Command:
    """Return a command as the agent takes it.

    `{address}`, `{port}` and `{iterations}` in its words are those of the trial.
    """
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


def _ending(program: ClientCollectAnswer | ProgramStatus) -> str:
    """Return how a program ended, and its last output."""
    how = "; ".join(part for part in (program.stopped, program.ended) if part)
    return f"{how}{_last_output(program)}"


def _last_output(program: ClientCollectAnswer | ProgramStatus) -> str:
    said = " / ".join(line for line in program.said[-3:] if line)
    return f"; its last output: {said}" if said else ""
