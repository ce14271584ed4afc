"""One trial of requests: listen, ask through warm-up and window, collect; of several guests, all at once."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

from vtax.agent_api import Durations, RequesterCollectAnswer, RequesterGoAnswer
from vtax.results import Row, TrialRecord
from vtax.trial.closing import closing
from vtax.trial.endpoint_trial import EndpointTrial
from vtax.trial.endpoints.exchange import Exchange
from vtax.trial.endpoints.exchange_rows import exchange_row
from vtax.trial.endpoints.path import EndpointPath
from vtax.trial.observed import Observed
from vtax.trial.round_trip_rows import histogram_row
from vtax.trial.stage_rows import unattributed_row
from vtax.trial.timeouts import answer_timeout_ms
from vtax.trial.tracing.path import TracePath
from vtax.trial.tracing.tracer import Tracer, tracing
from vtax.trial.verdict import Finding, Verdict
from vtax.workloads.requests.keys import Requests

HEADERS_BYTES = 80
"""Of IPv4 with TCP and its timestamps, or SCTP, and a little more."""


class RequestsTrial(EndpointTrial):
    """Requests and answers. Requests that failed and answers that came late are results."""

    keeps_cpus_awake = True
    far_end = "the client"

    _exchanges: Sequence[Exchange]
    _tracer: Tracer
    _asking: Sequence[Callable[[], RequesterGoAnswer]]

    def __init__(self, observed: Observed) -> None:
        super().__init__(observed)
        self.runs: list[RequesterGoAnswer] = []
        """By the guest's number."""
        self.tallies: list[RequesterCollectAnswer] = []
        """Likewise."""

    @property
    def work(self) -> Requests:
        """What is asked of it."""
        return self.observed.cell.of(Requests)

    def open(self, path: EndpointPath, opened: ExitStack) -> None:
        """Listen everywhere, and make ready to ask and to trace."""
        number, timeout_ms = self.observed.trial, answer_timeout_ms(emulated=self.observed.emulated)
        self.far_cpus = path.far_cpus
        self._exchanges = [
            Exchange(asker, answerer, self.work.exchange, number, timeout_ms) for asker, answerer in path.ends
        ]
        opened.enter_context(closing(*(exchange.close for exchange in self._exchanges)))
        self._tracer = opened.enter_context(tracing(*path.watcher, self.work, path.trace_paths, "headers"))
        for exchange in self._exchanges:
            exchange.open()

    def arm(self) -> None:
        """Have packets followed in the window."""
        self._tracer.arm(self.work.warmup_s, self.work.duration_s)

    def go(self, begin: float) -> float:
        """Ask from now on."""
        self._asking = [exchange.go() for exchange in self._exchanges]
        return begin

    def collect(self) -> None:
        """Take response times, and where packets spent theirs."""
        self.runs = [finish() for finish in self._asking]
        self.tallies = [exchange.collect() for exchange in self._exchanges]
        self.observed.traced = self._tracer.read()

    @property
    def mean_ns(self) -> float | None:
        """Of all requests that were answered."""
        times = [_times_of(tally) for tally in self.tallies]
        count = sum(each.count for each in times)
        total_ns = sum(each.count * each.mean_ns for each in times if each.mean_ns is not None)
        return total_ns / count if count else None

    def findings(self) -> Iterator[Finding]:
        """Yield whether all was asked."""
        if any(run.aborted for run in self.runs):
            yield Verdict.INVALID, "the requests were aborted"

    def rows(self) -> TrialRecord:
        """Return each guest's requests, and what of their time no stage has."""
        number, duration_s = self.observed.trial, self.work.duration_s
        tallies = list(enumerate(self.tallies))
        return TrialRecord(
            trial={},
            flows=[
                exchange_row(number, "victim", guest, tally, _times_of(tally), duration_s)
                for guest, tally in tallies
            ],
            latency=[row for guest, tally in tallies for row in _histograms(number, guest, tally)],
            stages=self._unattributed(),
        )

    def key_figure(self) -> str:
        """Return the mean response time, and how many requests failed."""
        problems = "; ".join(
            dict.fromkeys(tally.last_problem for tally in self.tallies if tally.failed and tally.last_problem)
        )
        failed = f"{sum(tally.failed for tally in self.tallies)} failed" + (
            f" ({problems})" if problems else ""
        )
        if self.mean_ns is None:
            return f"no request was answered, {failed}"
        answered = sum(tally.transactions for tally in self.tallies)
        return f"mean response time {self.mean_ns / 1e6:.3f} ms (n = {answered}), {failed}"

    def _unattributed(self) -> list[Row]:
        """Return what of the response time is in no stage: guests, links, whoever asks.

        Of requests of one packet each way.
        """
        work, most = self.work, self.observed.cell.testbed.mtu - HEADERS_BYTES
        if self.mean_ns is None or max(work.message_bytes, work.answer_bytes) > most:
            return []
        return unattributed_row(self.observed, self.mean_ns, _leg)


def _times_of(tally: RequesterCollectAnswer) -> Durations:
    """Return response times: from when each request was due in an open loop, else from when it was sent."""
    return tally.latency if tally.corrected is None else tally.corrected


def _histograms(trial: int, guest: int, tally: RequesterCollectAnswer) -> Iterator[Row]:
    """Yield a guest's times; its number stands for a stream's, of which each guest has one."""
    for corrected, times in {False: tally.latency, True: tally.corrected}.items():
        if times is not None:
            yield histogram_row(trial, times, tally.failed, stream=guest, corrected=corrected)


def _leg(path: TracePath) -> tuple[str, str]:
    """Return what a response time has once: each host's two directions, or the two ways between guests of one host."""
    trail = path.trail
    return path.host, trail.name if trail.direction == "through" else trail.direction
