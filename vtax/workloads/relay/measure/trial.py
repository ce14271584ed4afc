"""One trial of relays: start them, have the master make a run, collect its samples."""

import contextlib
from collections.abc import Iterator, Sequence

from vtax.agent_api import AgentApi, RelayCollectAnswer, RelayGoParams, RelayOpenParams, RelaySamplesParams
from vtax.machine.agent import UNTRUE, AgentBreach, AgentError
from vtax.machine.series import Part, read_series
from vtax.trial.closing import closing
from vtax.trial.endpoints.path import End
from vtax.trial.observed import Observed
from vtax.trial.ring_path import RingPath
from vtax.trial.run_trial import RunTrial
from vtax.trial.supervise import supervised
from vtax.trial.timeouts import answer_timeout_ms
from vtax.trial.verdict import Finding, Verdict
from vtax.workloads.relay.keys import Relay
from vtax.workloads.relay.measure.ring import ring

OPEN_S = 60.0
"""Eight relays of an emulated guest begin one after the other."""
HOP_S = 0.02
"""What a hop may take in the mean before a run is given up as hung: ten times what emulated guests do."""
GRACE_S = 120.0
"""What a run may last beyond that: ten messages that are lost in a row end it."""


class RelayTrial(RunTrial[RingPath]):
    """A run of rounds. Messages that were lost are results; a relay that died is none."""

    iteration = "a round"
    none_done = "no message came back"

    _ends: Sequence[End]
    """Those that have relays, the master's first."""

    def __init__(self, observed: Observed) -> None:
        super().__init__(observed)
        self.given_up = False
        """Whether it ended early, since nothing went round any more."""
        self.relays: list[RelayCollectAnswer] = []
        """What became of the relays of each guest, the master's first."""
        self.output_bytes: int | None = None
        """What the master wrote to standard output; None where it did not."""

    @property
    def work(self) -> Relay:
        """What is asked of it."""
        return self.observed.cell.of(Relay)

    def open(self, path: RingPath, opened: contextlib.ExitStack) -> None:
        """Start all relays."""
        relays = ring(path.ends, self.work, answer_timeout_ms(emulated=self.observed.emulated))
        self._ends = path.ends[: len(relays)]
        opened.enter_context(closing(*(end.api.relay_close for end in self._ends)))
        for end, theirs in zip(self._ends, relays, strict=True):
            end.api.relay_open(RelayOpenParams(relays=theirs), OPEN_S)

    @contextlib.contextmanager
    def made(self) -> Iterator[None]:
        """Have the master make the run."""
        work, (master, *others) = self.work, self._ends
        go = RelayGoParams(
            trial=self.observed.trial, iterations=work.iterations, interval_ms=work.interval_ms or None
        )
        patience_s = GRACE_S + work.iterations * (work.interval_ms / 1000 + HOP_S * work.hops)
        running = master.api.begin_relay_go(go)
        try:
            with supervised(others, AgentApi.begin_relay_watch, master, patience_s):
                run = running(patience_s)
        except AgentError as error:
            raise AgentError("; ".join([str(error), *_ended(others)])) from None
        yield
        self.times_ns, self.given_up = (run.start_ns, run.end_ns), run.given_up

    def collect(self) -> None:
        """Take the samples, and how the relays ended."""
        master = self._ends[0]
        self.relays = [end.api.relay_collect() for end in self._ends]
        self._take_samples(master)
        self.output_bytes = master.api.relay_close().output_bytes

    def _take_samples(self, master: End) -> None:
        def ask(first: int, timeout_s: float) -> Part[int]:
            answer = master.api.relay_samples(RelaySamplesParams(first=first), timeout_s)
            self.undone |= dict(answer.undone)
            return answer.ns, answer.iterations

        start_ns, end_ns = self.times_ns
        ns = read_series(master.agent, "relay.samples", "ns", self.work.iterations, ask)
        if wrong := sorted(at for at in self.undone if at >= len(ns)):
            problem = f"undone: iteration {wrong[0]} of {len(ns)}"
            raise AgentBreach(master.agent, "answered relay.samples", problem, UNTRUE)
        if sum(ns) > end_ns - start_ns:  # one follows the other
            problem = f"ns: {sum(ns)} in all, in a run of {end_ns - start_ns} ns"
            raise AgentBreach(master.agent, "answered relay.samples", problem, UNTRUE)
        self.ns = [*ns]

    def findings(self) -> Iterator[Finding]:
        """Yield how relays ended that should not have, and what the run lacks."""
        for guest, relays in enumerate(self.relays):
            for how in relays.ended:
                yield Verdict.INVALID, f"of guest {guest}: {how}"
        yield from self._output_findings()
        if self.given_up:
            last = self.relays[0].last_problem
            made, asked = len(self.ns), self.work.iterations
            yield (
                Verdict.SUSPECT,
                f"the run was given up after {made} of {asked} rounds, since ten in a row failed ({last})",
            )

    def _output_findings(self) -> Iterator[Finding]:
        if self.output_bytes is None:
            return
        written = len(self.ns) * self.work.message_bytes
        if self.output_bytes != written:
            yield (
                Verdict.INVALID,
                f"{self.output_bytes} of {written} bytes came through the master's standard output",
            )


def _ended(ends: list[End]) -> list[str]:
    """Return how relays have ended, with their last output; raises AgentGone where one went with its guest."""
    return [f"of {end.agent}: {how}" for end in ends for how in end.api.relay_collect().ended]
