"""One trial of echoes: have the other routers forward, ask through the first, collect."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from vtax.agent_api import EchoCollectAnswer, EchoGoAnswer, EchoOpenParams, SenderGoAnswer
from vtax.agent_message import Pending
from vtax.results import Row, TrialRecord
from vtax.trial.closing import closing
from vtax.trial.endpoint_trial import EndpointTrial
from vtax.trial.endpoints.path import End, EndpointPath
from vtax.trial.endpoints.stream_findings import start_findings, stream_findings
from vtax.trial.endpoints.stream_rows import flow_rows, goodput_words, series_rows
from vtax.trial.endpoints.streams import Flows, Streams, phases
from vtax.trial.observed import Observed
from vtax.trial.round_trip_rows import distribution_of, histogram_row, time_columns
from vtax.trial.timeouts import answer_timeout_ms
from vtax.trial.verdict import Finding, Verdict
from vtax.trial.window_trial import HEAD_START_S
from vtax.workloads.echo.keys import Echo

ASKED = 0
"""The guest that echoes go through."""


class EchoTrial(EndpointTrial):
    """Echoes through the first router. Lost, late and double answers are results."""

    head_start_s = HEAD_START_S

    echoes: EchoGoAnswer
    """How they went."""
    tally: EchoCollectAnswer
    """What came of them."""

    _asker: End
    _streams: Streams
    _sending: Sequence[Pending[SenderGoAnswer]]
    _echoing: Pending[EchoGoAnswer]

    def __init__(self, observed: Observed) -> None:
        super().__init__(observed)
        self.others: dict[int, Flows] = {}
        """What the other guests forwarded, by their numbers; empty where they were idle, or there are none."""

    @property
    def work(self) -> Echo:
        """What is asked of it."""
        return self.observed.cell.of(Echo)

    @property
    def timeout_ms(self) -> int:
        """How long an echo's answer is waited for."""
        return answer_timeout_ms(emulated=self.observed.emulated)

    def open(self, path: EndpointPath, opened: ExitStack) -> None:
        """Open the echo, and connect the streams of the other routers."""
        work, (first, *others) = self.work, path.ends
        self._asker, answerer = first
        self._streams = Streams(others if work.others == "tcp" else [], work.stress, self.observed.trial)
        opened.enter_context(closing(self._streams.close, self._asker.api.echo_close))
        self._asker.api.echo_open(self._asking(answerer))
        self._streams.connect(path.testbed.settings.mtu)

    def go(self, begin: float) -> float:
        """Send and ask from the same moment on."""
        self._sending = self._streams.go(begin)
        self._echoing = self._asker.api.begin_echo_go(phases(self.observed.trial, self.work, begin))
        return begin

    def collect(self) -> None:
        """Take round trips, and what the streams carried."""
        patience_s = self.patience_s + self.timeout_ms / 1000
        self.echoes = self._echoing(patience_s)
        self.tally = self._asker.api.echo_collect()
        told = [finish(patience_s) for finish in self._sending]
        flows = self._streams.collect(told, emulated=self.observed.emulated)
        self.others = dict(enumerate(flows, start=1))

    @property
    def start_spread_ms(self) -> float:
        """Between the first and the last start of all that was measured."""
        starts = [self.echoes.start_ns, *(flows.run.start_ns for flows in self.others.values())]
        return (max(starts) - min(starts)) / 1e6

    def findings(self) -> Iterator[Finding]:
        """Yield what the asker and the streams' ends found."""
        if self.echoes.aborted:
            yield Verdict.INVALID, "the echoes were aborted"
        if self.tally.last_problem:
            yield (
                Verdict.SUSPECT,
                f"the sender's kernel refused echoes, which count as lost: {self.tally.last_problem}",
            )
        for guest, flows in self.others.items():
            yield from stream_findings(guest, flows)
        yield from start_findings(self.start_spread_ms, "echoes and streams")

    def rows(self) -> TrialRecord:
        """Return the echoes and the other routers' streams."""
        others, number, window_s = self.others.items(), self.observed.trial, self.work.duration_s
        return TrialRecord(
            trial={},
            flows=[
                self._asked_row(),
                *(row for guest, of in others for row in flow_rows(number, "neighbour", guest, of, window_s)),
            ],
            series=[row for guest, of in others for row in series_rows(number, "neighbour", guest, of)],
            latency=[histogram_row(number, self.tally.latency, self.tally.lost)],
        )

    def key_figure(self) -> str:
        """Return the mean round trip, and what was lost."""
        tally, others = self.tally, list(self.others.values())
        mean_ns = tally.latency.mean_ns
        mean = "no echo was answered" if mean_ns is None else f"mean round trip {mean_ns / 1e6:.3f} ms"
        beside = f"; beside it {goodput_words(others)}" if others else ""
        return f"{mean}, lost {tally.lost} of {tally.sent}{beside}"

    def _asked_row(self) -> Row:
        """Return the row of the echoes. Quantiles are over all that were sent: a lost one is later than every other."""
        latency, lost, sent = self.tally.latency, self.tally.lost, self.tally.sent
        return {
            "trial_id": self.observed.trial,
            "role": "victim",
            "guest": ASKED,
            "stream": 0,
            "transactions": self.tally.received,
            "failed": lost,
            "loss_ratio": lost / sent if sent else None,
            "probes_sent": sent,
            **time_columns(latency, distribution_of(latency, lost)),
            "duration_s": self.work.duration_s,
        }

    def _asking(self, answerer: End) -> EchoOpenParams:
        return EchoOpenParams(
            cpu=self._asker.cpu,
            interface=self._asker.interface,
            local_address=self._asker.address,
            remote_address=answerer.address,
            payload_bytes=self.work.payload_bytes,
            interval_ms=self.work.interval_ms,
            timeout_ms=self.timeout_ms,
        )
