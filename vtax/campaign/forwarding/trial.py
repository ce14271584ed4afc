"""One trial: arm, go, warm up, measure, drain, collect. What came of it is judged and written elsewhere."""

import math
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

from vtax.agent_api import (
    GREATEST_STREAM,
    DropsReadAnswer,
    Mechanism,
    Phase,
    SinkHistogramsAnswer,
    SinkHistogramsParams,
    SourceClock,
    SourceRunParams,
)
from vtax.campaign.forwarding.answers import Received, Sent, StreamSent
from vtax.campaign.forwarding.captures import captured_frames
from vtax.campaign.forwarding.path import ForwardingPath
from vtax.campaign.guest import called
from vtax.campaign.observe import begin_window, observe
from vtax.campaign.observed import Observed, Twice
from vtax.campaign.tracing import tracing
from vtax.campaign.window import SAMPLE_INSET_S, sleep_until
from vtax.machine.agent import UNTRUE, AgentBreach
from vtax.results import CapturedFrame
from vtax.scenario import Cell, Forwarding
from vtax.testbed.counters import InterfaceCounters
from vtax.testbed.guest import GUEST, NEIGHBOUR
from vtax.testbed.guest_state import GuestState

QUIET_MS = 200
QUIET_EMULATED_MS = 500
DRAIN_LIMIT_MS = 2000
"""RFC 2544 section 23 waits two seconds for residual frames."""

PROBES_PER_S_PACED = 1000
PROBES_PER_S_FLOOD = 200
PROBES_PER_S_SHARED_FLOOD = 0.1
"""As good as none: they come on top of a link that is full, and would overfill the uplink behind it."""
SOURCE_PATIENCE_S = 10
"""How much longer than its phases a source may take."""


@dataclass
class Measured(Observed):
    """Everything one trial brought home."""

    mechanism: Mechanism = "raw"
    source: Sent = field(default_factory=Sent)
    sink: Received = field(default_factory=Received)
    times: dict[int, SinkHistogramsAnswer] = field(default_factory=dict)
    """What sinks know of the times of streams beside their delay, by stream."""
    captured: list[CapturedFrame] = field(default_factory=list)
    """The first frames that came, of all streams."""
    interfaces: Twice[dict[str, InterfaceCounters]] | None = None
    drops: Twice[DropsReadAnswer] | None = None
    """Frames that the kernel says it dropped (ForwardingPath.dropped); None where it was not asked."""
    no_drop_reasons: str | None = None
    """Why it does not say why (Path.no_drop_reasons)."""
    clock_error_ns: dict[int, int] = field(default_factory=dict)
    """By how much the delays of a stream may be wrong whose source and sink have not one clock."""
    egress_words: str | None = None
    """The queueing discipline that the guest was asked to send through (Path.egress_words)."""

    @property
    def work(self) -> Forwarding:
        """What was asked of it."""
        return self.cell.forwarding

    def departed(self, stream: StreamSent) -> int:
        """Frames of all phases that the source sent on one stream; a flood's probes come on top of its frames."""
        beside = self.work.intended_mbps is None
        return sum(phase.frames_sent + (phase.probes_sent if beside else 0) for phase in stream.phases)

    def refused(self, stream: StreamSent) -> int:
        """Probes of all phases that the link of a flooded stream had no room for."""
        return sum(phase.probes_refused for phase in stream.phases)

    def received(self, interface: str) -> int:
        """Frames of all phases that an interface (host/name) received; 0 where that was not read."""
        if self.interfaces is None:
            return 0
        before, after = self.interfaces
        return after[interface]["received"] - before[interface]["received"]

    @property
    def window_s(self) -> float:
        """The window common to the flows of a source, which has one schedule and one clock; of several the shortest."""
        windows_ns = []
        for host in {stream.host for stream in self.source.streams}:
            phases = [stream.phase() for stream in self.source.streams if stream.host == host]
            windows_ns.append(min(phase.end_ns for phase in phases) - max(phase.start_ns for phase in phases))
        return min(windows_ns) / 1e9

    @property
    def drain_s(self) -> float:
        """How long the sinks waited for the last frames."""
        return max(sink.drain_ms for sink in self.sink.hosts.values()) / 1000


def probes_per_s(cell: Cell) -> float:
    """Frames a second of each stream whose delay is taken."""
    if cell.forwarding.intended_fps is not None:
        return PROBES_PER_S_PACED
    return PROBES_PER_S_SHARED_FLOOD if cell.testbed.is_shared else PROBES_PER_S_FLOOD


def probe_interval(work: Forwarding) -> int:
    """One frame of a paced stream in so many is a probe, as the source reckons; a flood's probes go beside it."""
    if work.intended_fps is None:
        return 1
    return max(1, math.floor(work.intended_fps / PROBES_PER_S_PACED + 0.5))


def as_run(
    trial: int,
    work: Forwarding,
    mechanism: Mechanism,
    probe_fps: float | None = None,
    *,
    shares_cpu: bool = False,
) -> SourceRunParams:
    """Parameters of `source.run`; probes are as many as a stream of its own links has, unless told otherwise."""
    phases_s: dict[Phase, float] = {"warmup": work.warmup_s} if work.warmup_s else {}
    return work.frames.run(
        trial,
        mechanism,
        {**phases_s, "measure": work.duration_s},
        intended_fps=work.intended_fps,
        probe_fps=probe_fps or (PROBES_PER_S_FLOOD if work.intended_fps is None else PROBES_PER_S_PACED),
        shares_cpu=shares_cpu,
    )


def measure(
    path: ForwardingPath,
    cell: Cell,
    trial: int,
    guests: dict[str, GuestState],
    *,
    mechanism: Mechanism,
    emulated: bool,
) -> Measured:
    """Measure `cell` by `mechanism` on a ready path, whose guests stand as `guests` says (Path.guest_states).

    Never raises for what agents do: that is in `failure`.
    """
    work = cell.forwarding
    measured = Measured(trial, cell, datetime.now(UTC), mechanism=mechanism, egress_words=path.egress_words)

    def run() -> None:
        path.use_streams(cell.streams, work.frames)
        with tracing(*path.testbed.watcher, work, path.ways, "stamp") as tracer:
            # Stamps tell the frames of the measurement: the window only has to hold them.
            tracer.arm(0.0, work.warmup_s + work.duration_s + SOURCE_PATIENCE_S)
            _run(path, cell, measured, QUIET_EMULATED_MS if emulated else QUIET_MS)
            measured.traced = tracer.read()

    observe(path, measured, guests, run, emulated=emulated)
    measured.failure = measured.failure or _failure_of(measured)
    return measured


def _failure_of(measured: Measured) -> str | None:
    """What else makes a trial the instrument's failure: the end of the guest's agent, or a link that is gone."""
    for name, (_, state) in measured.guests.items():
        if state.condition == "agent died":
            return f"the agent inside {called(name)} {state.reason}"
    if measured.interfaces is not None:
        before, after = measured.interfaces
        gone = sorted(
            name
            for name in before.keys() - after.keys()
            if not name.startswith((f"uut/{GUEST}", f"uut/{NEIGHBOUR}"))
        )
        if gone:
            return f"interfaces disappeared: {', '.join(gone)}"
    return None


def _check_phases(sent: Sent, work: Forwarding) -> None:
    """Raise AgentBreach where a source that was not aborted did not send the phases that were asked for."""
    wanted = ["warmup", "measure"] if work.warmup_s else ["measure"]
    if any(answer.aborted for answer in sent.hosts.values()):
        return
    for stream in sent.streams:
        if [phase.phase for phase in stream.phases] != wanted:
            raise AgentBreach("source", "answered source.run", f"phases: not those of {wanted}", UNTRUE)


def _check_streams(agent: str, said: str, told: Sent | Received, streams: int, others: int = 0) -> None:
    """Raise AgentBreach where streams are missing, or told of twice; a sink has those of other cells as well."""
    numbers = [stream.stream for stream in told.streams]
    if numbers not in ([*range(count)] for count in range(streams, streams + others + 1)):
        raise AgentBreach(agent, said, f"streams: {numbers}, of {streams}", UNTRUE)


def _run(path: ForwardingPath, cell: Cell, measured: Measured, quiet_ms: int) -> None:
    work, passage, uut = measured.work, path.passage, path.testbed.uut
    clocks = path.testbed.compare_clocks()
    passage.arm(
        work.frames.arm(measured.trial, "measure", probe_interval(work)),
        [SourceClock(stream=stream, ahead_ns=clock.ahead_ns) for stream, clock in clocks.items()],
    )
    intended = work.intended_fps
    path.meter_drops(None if intended is None else intended * cell.streams)
    measured.no_drop_reasons = path.no_drop_reasons()
    interfaces_before, drops_before = path.interface_counters(), path.dropped()
    begin_window(path, work, time.monotonic())
    run = passage.run(as_run(measured.trial, work, measured.mechanism, probes_per_s(cell)))
    went = time.monotonic()
    sleep_until(went + work.warmup_s + SAMPLE_INSET_S)
    first = uut.counters(path.uut_cpus)
    sleep_until(went + work.warmup_s + work.duration_s - SAMPLE_INSET_S)
    measured.cpu = (first, uut.counters(path.uut_cpus))
    measured.source = Sent(run.answers(work.warmup_s + work.duration_s + SOURCE_PATIENCE_S))
    _check_phases(measured.source, work)
    _check_streams("source", "answered source.run", measured.source, cell.streams)
    measured.sink = passage.collect(measured.source, "measure", quiet_ms, DRAIN_LIMIT_MS)
    _check_streams("sink", "answered sink.collect", measured.sink, cell.streams, GREATEST_STREAM)
    for number in range(cell.streams):
        histograms = SinkHistogramsParams(stream=number)
        measured.times[number] = passage.sink(number).sink_histograms(histograms)
        measured.captured += captured_frames(passage, number, work.capture_frames)
    measured.clock_error_ns = {
        stream: clocks[stream].error_until_ns(later)
        for stream, later in path.testbed.compare_clocks().items()
    }
    measured.sampled = path.cpu_meter.read()
    measured.interfaces = (interfaces_before, path.interface_counters())
    if drops_before is not None and (drops_after := path.dropped()) is not None:
        measured.drops = (drops_before, drops_after)
