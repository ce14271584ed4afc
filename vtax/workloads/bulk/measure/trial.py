"""One trial of bulk streams: listen, connect, go, warm up, measure, drain, collect."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from vtax.agent_api import SenderGoAnswer
from vtax.agent_message import Pending
from vtax.results import TrialRecord
from vtax.trial.closing import closing
from vtax.trial.endpoint_trial import EndpointTrial
from vtax.trial.endpoints.path import EndpointPath
from vtax.trial.endpoints.stream_findings import buffer_findings, start_findings, stream_findings
from vtax.trial.endpoints.stream_rows import flow_rows, goodput_words, series_rows
from vtax.trial.endpoints.streams import Flows, Streams
from vtax.trial.observed import Observed
from vtax.trial.verdict import Finding
from vtax.trial.window_trial import HEAD_START_S
from vtax.workloads.bulk.keys import Bulk
from vtax.workloads.bulk.measure.far_end import FAR_END_BUSY, far_end_findings, is_busy

PEER_BUFFER_BYTES = 16 << 20
"""Datagrams of a tenth of a second at 1000 Mbit/s."""


class BulkTrial(EndpointTrial):
    """Streams of data, as the transport goes."""

    far_end = "the far guest"

    _streams: Streams
    _sending: Sequence[Pending[SenderGoAnswer]]

    def __init__(self, observed: Observed) -> None:
        super().__init__(observed)
        self.flows: list[Flows] = []
        """By the guest's number."""

    @property
    def work(self) -> Bulk:
        """What is asked of it."""
        return self.observed.cell.of(Bulk)

    @property
    def instrument_receives(self) -> bool:
        """Whether receivers are bare far ends: what these lose no guest lost."""
        return self.work.has_bare_peers and self.work.direction != "receiving"

    def open(self, path: EndpointPath, opened: ExitStack) -> None:
        """Connect all streams."""
        work = self.work
        sending = work.direction == "sending"
        pairs = [(other, peer) if sending else (peer, other) for peer, other in path.ends]
        self.far_cpus = path.far_cpus
        spares = self.instrument_receives and work.transport == "udp"
        buffer_bytes = PEER_BUFFER_BYTES if spares else None
        self._streams = Streams(pairs, work.streams, self.observed.trial, buffer_bytes)
        opened.enter_context(closing(self._streams.close))
        self._streams.connect(path.testbed.settings.mtu)

    @property
    def head_start_s(self) -> float:
        """None where senders have clocks of their own."""
        return HEAD_START_S if self._streams.share_clock else 0.0

    def go(self, begin: float) -> float:
        """Send, from the same moment on where senders share a clock."""
        self._sending = self._streams.go(begin if self._streams.share_clock else None)
        return begin

    def collect(self) -> None:
        """Drain, and take what came."""
        told = [finish(self.patience_s) for finish in self._sending]
        self.flows = self._streams.collect(told, emulated=self.observed.emulated)

    @property
    def start_spread_ms(self) -> float | None:
        """Between the first and the last guest's start, by the host's clock; None where one did not start.

        Of senders that are guests, what their peers received first tells.
        """
        if self.work.direction == "sending":
            starts = [flows.came.first_arrival_ns for flows in self.flows]
        else:
            starts = [flows.run.start_ns for flows in self.flows]
        known = [start for start in starts if start is not None]
        return (max(known) - min(known)) / 1e6 if known and len(known) == len(starts) else None

    def marks(self) -> tuple[str, ...]:
        """Mark a trial whose bare far ends were busy; but a flood of datagrams takes all there is."""
        may_hold_back = self.work.has_bare_peers and self.work.transport != "udp"
        return (FAR_END_BUSY,) if may_hold_back and is_busy(self.observed.far_end_cpu) else ()

    def findings(self) -> Iterator[Finding]:
        """Yield what the streams' ends found."""
        for guest, flows in enumerate(self.flows):
            yield from stream_findings(guest, flows)
            yield from buffer_findings(guest, flows, self.work.buffer_bytes)
            if self.instrument_receives:
                yield from far_end_findings(guest, flows)
        if not self.observed.emulated:
            yield from start_findings(self.start_spread_ms, "guests")

    def rows(self) -> TrialRecord:
        """Return all streams."""
        guests, number, window_s = list(enumerate(self.flows)), self.observed.trial, self.work.duration_s
        return TrialRecord(
            trial={},
            flows=[row for guest, of in guests for row in flow_rows(number, "victim", guest, of, window_s)],
            series=[row for guest, of in guests for row in series_rows(number, "victim", guest, of)],
        )

    def key_figure(self) -> str:
        """Return the goodput of all streams together."""
        return goodput_words(self.flows)
