"""One trial of frames: arm, go, warm up, measure, drain, collect."""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack

from vtax.agent_api import (
    GREATEST_STREAM,
    DropsReadAnswer,
    SinkHistogramsParams,
    SourceClock,
    SourceRunAnswer,
)
from vtax.machine.agent import UNTRUE, AgentBreach
from vtax.results import Row, TrialRecord
from vtax.testbed.clocks import ClockAhead
from vtax.testbed.counters import InterfaceCounters
from vtax.testbed.guest import GUEST, NEIGHBOUR
from vtax.trial.frames.answers import Received, Sent
from vtax.trial.frames.limits import UPLINK_LIMITED, limit
from vtax.trial.frames.measured import Measured, as_awaited, as_run, probes_per_s
from vtax.trial.frames.passage import Asked
from vtax.trial.guest import called
from vtax.trial.timeouts import DRAIN_LIMIT_MS, quiet_ms
from vtax.trial.tracing.tracer import Tracer, tracing
from vtax.trial.verdict import Finding
from vtax.trial.window_trial import WindowTrial
from vtax.workloads.forwarding.keys import Forwarding
from vtax.workloads.forwarding.measure.captures import captured_frames
from vtax.workloads.forwarding.measure.context import uut_context
from vtax.workloads.forwarding.measure.foreign import foreign_findings
from vtax.workloads.forwarding.measure.instrument import instrument_findings, sink_is_lost
from vtax.workloads.forwarding.measure.path import ForwardingPath
from vtax.workloads.forwarding.measure.rows import (
    Instrument,
    instrument_columns,
    key_figure,
    own_rows,
    start_spread_ms,
)
from vtax.workloads.forwarding.measure.uplink import Uplink, uplink_findings


class ForwardingTrial(WindowTrial[ForwardingPath]):
    """Frames through the guests. What the UUT drops, duplicates, reorders or holds back is a result."""

    observed: Measured

    _path: ForwardingPath
    _tracer: Tracer
    _clocks: Mapping[int, ClockAhead]
    _before: tuple[dict[str, InterfaceCounters], DropsReadAnswer | None]
    _sending: Asked[SourceRunAnswer]

    def __init__(self, observed: Measured, instrument: Instrument) -> None:
        super().__init__(observed)
        self._instrument = instrument

    @property
    def work(self) -> Forwarding:
        """What is asked of it."""
        return self.observed.cell.of(Forwarding)

    def open(self, path: ForwardingPath, opened: ExitStack) -> None:
        """Open the sources on its streams, and make ready to trace."""
        self._path = path
        path.use_streams(self.observed.cell.streams, self.observed.load, self.observed.mechanism)
        self._tracer = opened.enter_context(
            tracing(*path.testbed.watcher, self.work, path.trace_paths, "stamp")
        )

    def arm(self) -> None:
        """Have the sinks await its frames, and read what is compared with the end."""
        measured, load, path = self.observed, self.observed.load, self._path
        # Stamps tell the frames of the measurement: the window only has to hold them.
        self._tracer.arm(0.0, self.patience_s)
        self._clocks = path.testbed.compare_clocks()
        path.passage.arm(
            as_awaited(measured.trial, load),
            [SourceClock(stream=stream, ahead_ns=clock.ahead_ns) for stream, clock in self._clocks.items()],
        )
        intended = load.intended_fps
        path.meter_drops(None if intended is None else intended * measured.cell.streams)
        measured.no_drop_reasons = path.no_drop_reasons()
        self._before = path.interface_counters(), path.dropped()

    def go(self, begin: float) -> float:
        """Have all streams sent from now on."""
        measured = self.observed
        run = as_run(
            measured.trial, measured.load, measured.mechanism, probes_per_s(measured.cell, measured.mechanism)
        )
        self._sending = self._path.passage.run(run)
        return time.monotonic()

    def collect(self) -> None:
        """Drain, and take what sources, sinks, interfaces and kernel counted."""
        measured, path, streams = self.observed, self._path, self.observed.cell.streams
        measured.source = Sent(self._sending.answers(self.patience_s))
        _check_phases(measured.source, self.work)
        _check_streams("source", "answered source.run", measured.source, streams)
        quiet = quiet_ms(emulated=measured.emulated)
        measured.sink = path.passage.collect(measured.source, "measure", quiet, DRAIN_LIMIT_MS)
        _check_streams("sink", "answered sink.collect", measured.sink, streams, GREATEST_STREAM)
        for number in range(streams):
            histograms = SinkHistogramsParams(stream=number)
            measured.times[number] = path.passage.sink(number).sink_histograms(histograms)
            measured.captured += captured_frames(path.passage, number, self.work.capture_frames)
        measured.clock_error_ns = {
            stream: self._clocks[stream].error_until_ns(later)
            for stream, later in path.testbed.compare_clocks().items()
        }
        interfaces_before, drops_before = self._before
        measured.interfaces = (interfaces_before, path.interface_counters())
        if drops_before is not None and (drops_after := path.dropped()) is not None:
            measured.drops = (drops_before, drops_after)
        measured.traced = self._tracer.read()

    def instrument_failure(self) -> str | None:
        """Return whether the agent in a guest ended, or a link is gone."""
        measured = self.observed
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

    def instrument_is_lost(self) -> bool:
        """Return whether a sink is no longer in place."""
        return sink_is_lost(self.observed)

    @property
    def drain_s(self) -> float:
        """As long as the sinks waited for the last frames."""
        return self.observed.drain_s

    @property
    def start_spread_ms(self) -> float | None:
        """Between the first frames of the streams; None between sources, whose clocks are their own."""
        return start_spread_ms(self.observed)

    def uut_context(self) -> str | None:
        """Return whose thread handled the frames."""
        return uut_context(self.observed)

    def marks(self) -> tuple[str, ...]:
        """Mark what kept the load below the intended one."""
        limits = (limit(self.observed, stream) for stream in self.observed.source.streams)
        marks = {mark for mark in limits if mark is not None}
        uplink = Uplink.of(self.observed)
        if uplink is not None and uplink.limited:
            marks.add(UPLINK_LIMITED)
        return tuple(sorted(marks))

    def findings(self) -> Iterator[Finding]:
        """Yield what sources, sinks and links found."""
        return instrument_findings(self.observed)

    def interference(self) -> Iterator[Finding]:
        """Yield whose frames else there were, and whether a switch lacked CPU time."""
        yield from foreign_findings(self.observed)
        yield from uplink_findings(self.observed)

    def columns(self) -> Row:
        """Return how many streams there are, and of what instrument."""
        return instrument_columns(self.observed, self._instrument)

    def rows(self) -> TrialRecord:
        """Return flows, hops, delays and all that was captured."""
        return own_rows(self.observed, self._instrument)

    def key_figure(self) -> str:
        """Return what was received of what was offered."""
        return key_figure(self.observed)


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
