"""Neighbours that forward frames of 64 bytes at a share of what they can (schlosser2011, section 3.4)."""

from datetime import UTC, datetime
from statistics import fmean

from vtax.agent_api import SinkHistogramsParams, SourceRunAnswer
from vtax.keys.cell import Cell
from vtax.keys.frames import FrameLoad, FrameSpec
from vtax.keys.workload import TimedKeys
from vtax.machine.agent import AgentError, AgentGone
from vtax.results import Row
from vtax.testbed.guest import NEIGHBOUR
from vtax.testbed.host import Host
from vtax.testbed.neighbours import FAR_AGENT
from vtax.testbed.testbed import Testbed
from vtax.trial.beside import Beside, Neighbours, Turn
from vtax.trial.frames.answers import Received, Sent
from vtax.trial.frames.flow_rows import flow_row, offered_mbps
from vtax.trial.frames.measured import Measured, as_awaited, as_run
from vtax.trial.frames.passage import Asked, Passage
from vtax.trial.frames.source_time import stream_shares
from vtax.trial.neighbours.findings import missed
from vtax.trial.path import PathFailed
from vtax.trial.timeouts import DRAIN_LIMIT_MS, QUIET_MS
from vtax.trial.verdict import Finding
from vtax.units import mbps

FRAME_BYTES = 64
FRAMES = FrameSpec(FRAME_BYTES)
MAXIMUM_TRIAL = 0xFFFFFFFE
"""Trial number of the frames that its maximum is found by."""
MAXIMUM_WARMUP_S, MAXIMUM_S = 0.3, 0.7
CARRIED = 0.98
"""A neighbour that passes so much of a flood on has shown its maximum by that."""
STEPS = (1 / 3, 2 / 3)
"""Loads between what it passes on of a flood and the flood, in logarithms: platforms may pass on more of less."""


class Forward(Neighbours):
    """All are offered the same load, over links of their own."""

    site: Testbed

    _passage: Passage
    _turn: Turn | None = None
    _run: Asked[SourceRunAnswer] | None = None

    def __init__(self, site: Testbed, load_share: float) -> None:
        super().__init__(site)
        self._load_share = load_share
        self._maximum_mbps = 0.0

    def ready(self) -> None:
        """Wait until frames pass, and find how many can: the guest that is measured is idle."""
        self._far.start_agent(FAR_AGENT, "agents")
        agents = [(self._far, FAR_AGENT)]
        self._passage = Passage(agents, agents)
        self._passage.open_sinks(self.site.sink_streams())
        self._passage.open_sources(self.site.source_streams(len(self.guests), FRAMES))
        self._passage.await_ready(FRAMES, lambda: "the neighbours' own links")
        self._maximum_mbps = self._find_maximum()

    def open(self, turn: Turn) -> None:
        """Have the sink await the trial's frames."""
        self._turn = turn
        self._arm(turn.trial, self._load(turn.cell))

    def go(self, begin: float) -> None:
        """Send from now on."""
        assert self._turn is not None  # noqa: S101 - opened before
        self._run = self._begin(self._turn.trial, self._load(self._turn.cell))

    def collect(self) -> Beside:
        """What each was offered, and passed on."""
        assert self._turn is not None and self._run is not None  # noqa: S101 - it went
        load = self._load(self._turn.cell)
        run, self._run = self._run, None
        source = Sent(run.answers(load.warmup_s + load.duration_s + 10))
        measured = Measured(
            self._turn.trial,
            self._turn.cell,
            datetime.now(UTC),
            load=load,
            mechanism="raw",
            source=source,
            sink=self._drained(source),
        )
        flows: list[Row] = []
        findings: list[Finding] = []
        for number, stream in enumerate(source.streams):
            sink = self._passage.sink(stream.stream)
            measured.times[stream.stream] = sink.sink_histograms(SinkHistogramsParams(stream=stream.stream))
            flows.append({**flow_row(measured, stream, "neighbour", number), "stream": 0})
            findings += missed(number, offered_mbps(measured, stream), self._load_mbps)
        thread = stream_shares(measured, source.streams[0])
        return Beside(flows, findings, self._maximum_mbps, thread.ran if thread else 0.0)

    def close(self) -> None:
        """Nothing is sent any more."""
        run, self._run = self._run, None
        if run is None:
            return
        try:
            self._passage.abort()
            run.answers()
        except (AgentGone, AgentError):
            return

    @property
    def _far(self) -> Host:
        """The host of all far ends."""
        (far,) = self.site.hosts
        return far

    def _load(self, cell: Cell) -> FrameLoad:
        """What each neighbour is offered in a trial."""
        given = cell.of(TimedKeys)
        return FrameLoad(FRAMES, given.warmup_s, given.duration_s, self._load_mbps)

    @property
    def _load_mbps(self) -> float:
        return self._load_share * self._maximum_mbps

    def _arm(self, trial: int, load: FrameLoad) -> None:
        self._passage.arm(as_awaited(trial, load))

    def _begin(self, trial: int, load: FrameLoad) -> Asked[SourceRunAnswer]:
        shares_cpu = load.intended_mbps is not None
        return self._passage.run(as_run(trial, load, "raw", shares_cpu=shares_cpu))

    def _drained(self, source: Sent) -> Received:
        """What the sink counted, once all of a run has come."""
        return self._passage.collect(source, "measure", QUIET_MS, DRAIN_LIMIT_MS)

    def _find_maximum(self) -> float:
        """Mbit/s of each neighbour in the mean, at layer 1, while all forward and nobody else does."""
        offered, best = self._carried(None)
        if not best:
            raise PathFailed(f"no {NEIGHBOUR} forwards anything of a flood")
        if best < CARRIED * offered:
            flood = best
            best = max(flood, *(self._carried(flood * (offered / flood) ** step)[1] for step in STEPS))
        return best

    def _carried(self, load_mbps: float | None) -> tuple[float, float]:
        """What of a load was offered and passed on in the mean."""
        load = FrameLoad(FRAMES, MAXIMUM_WARMUP_S, MAXIMUM_S, load_mbps)
        self._arm(MAXIMUM_TRIAL, load)
        source = Sent(self._begin(MAXIMUM_TRIAL, load).answers(MAXIMUM_WARMUP_S + MAXIMUM_S + 10))
        sent = [stream.phases[-1].frames_sent for stream in source.streams]
        came = [stream.received for stream in self._drained(source).streams]
        return mbps(fmean(sent) / MAXIMUM_S, FRAME_BYTES), mbps(fmean(came) / MAXIMUM_S, FRAME_BYTES)
