"""Requests and answers between two ends: a connection of a trial's own, one request under way at a time."""

from collections.abc import Callable
from dataclasses import dataclass

from vtax.agent_api import (
    RequesterCollectAnswer,
    RequesterGoAnswer,
    RequesterGoParams,
    RequesterOpenParams,
    ResponderOpenParams,
    ResponseBytes,
)
from vtax.keys.exchange import ExchangeSpec
from vtax.trial.closing import close_all
from vtax.trial.endpoints.path import End

PORT = 5001
SHORT_BYTES = 20
"""A request of fewer has no room to tell its length."""


@dataclass(frozen=True)
class Exchange:
    """The requests of a trial."""

    asker: End
    answerer: End
    work: ExchangeSpec
    trial: int
    timeout_ms: int

    def open(self) -> None:
        """Listen, and make ready to ask."""
        self.answerer.api.responder_open(self._listening)
        self.asker.api.requester_open(self._asking)

    def go(self) -> Callable[[], RequesterGoAnswer]:
        """Ask through warm-up and window; the result waits for the end of that."""
        work = self.work
        go = RequesterGoParams(trial=self.trial, warmup_s=work.warmup_s or None, duration_s=work.duration_s)
        asked = self.asker.api.begin_requester_go(go)
        # It connects first, and its last request may wait for its answer in vain.
        patience_s = work.warmup_s + work.duration_s + 2 * self.timeout_ms / 1000 + 10
        return lambda: asked(patience_s)

    def collect(self) -> RequesterCollectAnswer:
        """What came of them."""
        return self.asker.api.requester_collect()

    def close(self) -> None:
        """Ask no more, and listen no more. Raises AgentBreach; see close_all."""
        close_all([self.asker.api.requester_close, self.answerer.api.responder_close])

    @property
    def _listening(self) -> ResponderOpenParams:
        work = self.work
        return ResponderOpenParams(
            cpu=self.answerer.cpu,
            interface=self.answerer.interface,
            protocol=work.transport,
            address=self.answerer.address,
            port=PORT,
            response_bytes=self._response_bytes,
            short_message_bytes=work.message_bytes if work.message_bytes < SHORT_BYTES else None,
            options=work.options,
        )

    @property
    def _asking(self) -> RequesterOpenParams:
        work = self.work
        return RequesterOpenParams(
            cpu=self.asker.cpu,
            interface=self.asker.interface,
            local_address=self.asker.address,
            remote_address=self.answerer.address,
            protocol=work.transport,
            port=PORT,
            message_bytes=work.message_bytes,
            response_bytes=self._response_bytes,
            rps=work.requests_per_s,
            timeout_ms=self.timeout_ms,
            options=work.options,
        )

    @property
    def _response_bytes(self) -> ResponseBytes:
        return "equal" if self.work.response_bytes is None else self.work.response_bytes
