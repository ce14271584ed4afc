"""One trial of relays: start them, have the master make a run, collect its samples."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from vtax.agent_api import AgentApi, RelayCollectAnswer, RelayGoParams, RelayOpenParams, RelaySamplesParams
from vtax.campaign.closing import closing
from vtax.campaign.ends import End
from vtax.campaign.observe import observe
from vtax.campaign.relay.ring import ring
from vtax.campaign.ring_path import RingPath
from vtax.campaign.supervise import supervised
from vtax.campaign.timed_run import TimedRun
from vtax.machine.agent import UNTRUE, AgentBreach, AgentError
from vtax.machine.cpu_latency import cpu_latency_held
from vtax.machine.series import Part, read_series
from vtax.scenario import Cell, Relay
from vtax.testbed.guest_state import GuestState

TIMEOUT_MS = 2000
TIMEOUT_EMULATED_MS = 10_000
"""A message that takes longer is lost."""
OPEN_S = 60.0
"""Eight relays of an emulated guest begin one after the other."""
HOP_S = 0.02
"""What a hop may take in the mean before a run is given up as hung: ten times what emulated guests do."""
GRACE_S = 120.0
"""What a run may last beyond that: ten messages that are lost in a row end it."""


@dataclass
class Ran(TimedRun):
    """Everything one run brought home. A round whose message did not come back failed."""

    given_up: bool = False
    """Whether it ended early, since nothing went round any more."""
    relays: list[RelayCollectAnswer] = field(default_factory=list)
    """What became of the relays of each guest, the master's first."""
    output_bytes: int | None = None
    """What the master wrote to standard output; None where it did not."""

    @property
    def work(self) -> Relay:
        """What was asked of it."""
        return self.cell.relay


def measure(path: RingPath, cell: Cell, trial: int, guests: dict[str, GuestState], *, emulated: bool) -> Ran:
    """Measure `cell` on a ready path whose guests stand so. Never raises for what agents do: that is in `failure`."""
    measured = Ran(trial, cell, datetime.now(UTC))
    with cpu_latency_held():
        observe(path, measured, guests, lambda: _run(path, measured, emulated), emulated=emulated)
    return measured


def _run(path: RingPath, measured: Ran, emulated: bool) -> None:
    work = measured.work
    relays = ring(path.ends, work, TIMEOUT_EMULATED_MS if emulated else TIMEOUT_MS)
    with_relays = path.ends[: len(relays)]
    master, *others = with_relays
    go = RelayGoParams(trial=measured.trial, iterations=work.iterations, interval_ms=work.interval_ms or None)
    patience_s = GRACE_S + work.iterations * (work.interval_ms / 1000 + HOP_S * work.hops)
    with closing(*(end.api.relay_close for end in with_relays)):
        for end, theirs in zip(with_relays, relays, strict=True):
            end.api.relay_open(RelayOpenParams(relays=theirs), OPEN_S)
        before = path.testbed.uut.counters(path.uut_cpus)
        running = master.api.begin_relay_go(go)
        try:
            with supervised(others, AgentApi.begin_relay_watch, master, patience_s):
                run = running(patience_s)
        except AgentError as error:
            raise AgentError("; ".join([str(error), *_ended(others)])) from None
        measured.cpu = (before, path.testbed.uut.counters(path.uut_cpus))
        measured.times_ns, measured.given_up = (run.start_ns, run.end_ns), run.given_up
        measured.relays = [end.api.relay_collect() for end in with_relays]
        _take_samples(master, measured, run.end_ns - run.start_ns)
        measured.output_bytes = master.api.relay_close().output_bytes


def _ended(ends: list[End]) -> list[str]:
    """How relays have ended, with the last that they said; raises AgentGone where one went with its guest."""
    return [f"of {end.agent}: {how}" for end in ends for how in end.api.relay_collect().ended]


def _take_samples(master: End, measured: Ran, run_ns: int) -> None:
    def ask(first: int, timeout_s: float) -> Part[int]:
        answer = master.api.relay_samples(RelaySamplesParams(first=first), timeout_s)
        measured.undone |= dict(answer.undone)
        return answer.ns, answer.iterations

    ns = read_series(master.agent, "relay.samples", "ns", measured.work.iterations, ask)
    if wrong := sorted(at for at in measured.undone if at >= len(ns)):
        problem = f"undone: iteration {wrong[0]} of {len(ns)}"
        raise AgentBreach(master.agent, "answered relay.samples", problem, UNTRUE)
    if sum(ns) > run_ns:  # one follows the other
        problem = f"ns: {sum(ns)} in all, in a run of {run_ns} ns"
        raise AgentBreach(master.agent, "answered relay.samples", problem, UNTRUE)
    measured.ns = [*ns]
