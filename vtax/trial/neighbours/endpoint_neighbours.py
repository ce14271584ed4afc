"""Neighbours that talk to far ends of their own: streams of TCP in bulk, or requests (oljira2016, III.D)."""

from collections.abc import Callable

from vtax.agent_api import RequesterGoAnswer, SenderGoAnswer
from vtax.agent_message import Pending
from vtax.keys.exchange import ExchangeSpec
from vtax.keys.streams import StreamSpec
from vtax.keys.workload import TimedKeys
from vtax.machine.agent import AgentGone
from vtax.results import Row
from vtax.testbed.guest import NEIGHBOUR
from vtax.testbed.network import FlowEnd
from vtax.testbed.testbed import Testbed
from vtax.trial.beside import Beside, Neighbours, Turn
from vtax.trial.closing import close_all
from vtax.trial.endpoints.exchange import Exchange
from vtax.trial.endpoints.exchange_rows import exchange_row
from vtax.trial.endpoints.path import End, await_echoes, make_end
from vtax.trial.endpoints.stream_findings import stream_findings
from vtax.trial.endpoints.stream_rows import flow_rows
from vtax.trial.endpoints.streams import Streams
from vtax.trial.timeouts import answer_timeout_ms
from vtax.trial.verdict import Finding, Verdict

REQUEST_BYTES = 64
"""Length of the neighbours' requests and answers."""


class EndpointNeighbours(Neighbours):
    """Each neighbour is an end, and has one."""

    site: Testbed

    def __init__(self, site: Testbed, *, own_kernel: bool) -> None:
        super().__init__(site)
        self._own_kernel = own_kernel
        self.ends: list[tuple[End, End]] = []
        """Far end and neighbour."""

    def ready(self) -> None:
        """Wait until every neighbour answers its far end."""
        self.ends = [(self._make_end(far), self._make_end(near)) for far, near in self.site.network.ends]
        for far, near in self.ends:
            await_echoes(far, near, lambda: "")

    def _make_end(self, declared: FlowEnd) -> End:
        return make_end(self.site, declared, own_kernel=self._own_kernel)


class InBulk(EndpointNeighbours):
    """Each sends a stream of TCP as fast as it goes."""

    _streams: Streams | None = None
    _turn: Turn
    _runs: list[Pending[SenderGoAnswer]]

    def open(self, turn: Turn) -> None:
        """Connect all."""
        given = turn.cell.of(TimedKeys)
        work = StreamSpec(given.warmup_s, given.duration_s)
        self._turn, self._streams = turn, Streams([(near, far) for far, near in self.ends], work, turn.trial)
        self._streams.connect(self.site.settings.mtu)

    def go(self, begin: float) -> None:
        """Send, all who share the host's clock from the same moment on."""
        assert self._streams is not None  # noqa: S101 - opened before
        together = all(near.shares_clock for _, near in self.ends)
        self._runs = self._streams.go(begin if together else None)

    def collect(self) -> Beside:
        """What came of each stream."""
        assert self._streams is not None  # noqa: S101 - opened before
        work = self._streams.work
        try:
            told = [finish(work.warmup_s + work.duration_s + 10) for finish in self._runs]
            found = self._streams.collect(told, emulated=self._turn.emulated)
        except AgentGone as gone:
            return Beside(findings=[(Verdict.INVALID, f"the neighbours' streams ended: {gone}")])
        rows: list[Row] = []
        findings: list[Finding] = []
        for number, flows in enumerate(found):
            rows += flow_rows(self._turn.trial, "neighbour", number, flows, work.duration_s)
            findings += [
                (verdict, f"{NEIGHBOUR}s: {words}") for verdict, words in stream_findings(number, flows)
            ]
        return Beside(rows, findings)

    def close(self) -> None:
        """Take back what is unsent."""
        streams, self._streams = self._streams, None
        if streams is not None:
            streams.close()


class InRequests(EndpointNeighbours):
    """Each answers requests of 64 bytes, one after the other as fast as answers come."""

    _exchanges: tuple[Exchange, ...] = ()
    _turn: Turn
    _runs: list[Callable[[], RequesterGoAnswer]]

    def open(self, turn: Turn) -> None:
        """Listen everywhere."""
        given = turn.cell.of(TimedKeys)
        work = ExchangeSpec(given.warmup_s, given.duration_s, REQUEST_BYTES)
        timeout_ms = answer_timeout_ms(emulated=turn.emulated)
        self._turn = turn
        self._exchanges = tuple(Exchange(far, near, work, turn.trial, timeout_ms) for far, near in self.ends)
        for exchange in self._exchanges:
            exchange.open()

    def go(self, begin: float) -> None:
        """Ask from now on."""
        self._runs = [exchange.go() for exchange in self._exchanges]

    def collect(self) -> Beside:
        """The response times of each."""
        rows: list[Row] = []
        findings: list[Finding] = []
        for number, (run, exchange) in enumerate(zip(self._runs, self._exchanges, strict=True)):
            if run().aborted:
                findings.append((Verdict.INVALID, f"the requests of {NEIGHBOUR}{number} were aborted"))
            tally, duration_s = exchange.collect(), exchange.work.duration_s
            rows.append(exchange_row(self._turn.trial, "neighbour", number, tally, tally.latency, duration_s))
        return Beside(rows, findings)

    def close(self) -> None:
        """Nobody listens any more."""
        exchanges, self._exchanges = self._exchanges, ()
        close_all(exchange.close for exchange in exchanges)
