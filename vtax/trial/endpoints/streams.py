"""Streams of data between pairs of ends: connected before a trial goes, drained and closed after it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from vtax.agent_api import (
    GoParams,
    ReceiverCollectAnswer,
    ReceiverCollectParams,
    ReceiverOpenParams,
    ReceiverSeriesParams,
    SenderGoAnswer,
    SenderOpenParams,
    SentFlow,
    SocketOptions,
)
from vtax.agent_message import Pending
from vtax.keys.streams import StreamSpec
from vtax.keys.workload import TimedKeys
from vtax.machine.agent import UNTRUE, AgentBreach
from vtax.machine.series import Part, read_series
from vtax.trial.closing import close_all
from vtax.trial.endpoints.path import End
from vtax.trial.timeouts import DRAIN_LIMIT_MS, quiet_ms

PORT = 5001
CONNECT_MS = 10_000
DRAIN_LIMIT_EMULATED_MS = 10_000
"""What stands in the buffers when the senders stop; an emulated guest takes its time to take it."""

STEP_MS = 100
"""A receiver counts in steps of so long."""
LATE_STEPS = 600
"""What may come within a minute beside window and drain: of senders that were held up."""


@dataclass
class Flows:
    """The flows of one guest, as its sender and its receiver saw them."""

    run: SenderGoAnswer
    sent: list[SentFlow]
    came: ReceiverCollectAnswer
    series: list[list[int]]
    """Bytes in each 100 ms, of each flow."""


@dataclass(frozen=True)
class Streams:
    """The streams of a trial; each pair is a sender and its receiver. A trial has connections of its own."""

    pairs: Sequence[tuple[End, End]]
    work: StreamSpec
    trial: int
    receive_buffer_bytes: int | None = None
    """Of receivers' sockets, where it differs from what is asked for."""

    def connect(self, mtu: int) -> None:
        """Listen everywhere, and connect all at once."""
        for _, receiver in self.pairs:
            receiver.api.receiver_open(self._listening(receiver))
        asked = [
            sender.api.begin_sender_open(self._connecting(sender, receiver, mtu))
            for sender, receiver in self.pairs
        ]
        for connected in asked:
            connected(CONNECT_MS / 1000 + 5)

    @property
    def share_clock(self) -> bool:
        """Whether all senders have the host's clock, and so can begin together."""
        return all(sender.shares_clock for sender, _ in self.pairs)

    def go(self, begin: float | None) -> list[Pending[SenderGoAnswer]]:
        """Have all send through warm-up and window, from a moment of the host's clock on that they share, or at once.

        Each of the results waits for its sender's end.
        """
        asked = phases(self.trial, self.work, begin)
        return [sender.api.begin_sender_go(asked) for sender, _ in self.pairs]

    def collect(self, runs: Sequence[SenderGoAnswer], *, emulated: bool) -> list[Flows]:
        """Wait until everything has come, and ask what that was."""
        return [
            self._collected(sender, receiver, run, emulated)
            for (sender, receiver), run in zip(self.pairs, runs, strict=True)
        ]

    def close(self) -> None:
        """Senders first: what is unsent is taken back. Raises AgentBreach; see close_all."""
        senders = [sender.api.sender_close for sender, _ in self.pairs]
        receivers = [receiver.api.receiver_close for _, receiver in self.pairs]
        close_all([*senders, *receivers])

    @property
    def _receiver_options(self) -> SocketOptions:
        options = self.work.options
        if self.receive_buffer_bytes is None:
            return options
        return replace(options, receive_buffer_bytes=self.receive_buffer_bytes)

    def _listening(self, receiver: End) -> ReceiverOpenParams:
        return ReceiverOpenParams(
            cpu=receiver.cpu,
            interface=receiver.interface,
            protocol=self.work.transport,
            address=receiver.address,
            port=PORT,
            flows=self.work.flows,
            trial=self.trial,
            warmup_s=self.work.warmup_s or None,
            duration_s=self.work.duration_s,
            options=self._receiver_options,
        )

    def _connecting(self, sender: End, receiver: End, mtu: int) -> SenderOpenParams:
        return SenderOpenParams(
            cpu=sender.cpu,
            interface=sender.interface,
            protocol=self.work.transport,
            local_address=sender.address,
            remote_address=receiver.address,
            port=PORT,
            flows=self.work.flows,
            message_bytes=self.work.piece_bytes(mtu),
            intended_goodput_mbps=self.work.intended_goodput_mbps,
            timeout_ms=CONNECT_MS,
            options=self.work.options,
        )

    def _collected(self, sender: End, receiver: End, run: SenderGoAnswer, emulated: bool) -> Flows:
        sent = sender.api.sender_collect().flows
        self._check(sender, "sender.collect", [flow.flow for flow in sent])
        expected = [flow.messages for flow in sent] if self.work.transport == "udp" else None
        limit_ms = DRAIN_LIMIT_EMULATED_MS if emulated else DRAIN_LIMIT_MS
        drain = ReceiverCollectParams(
            expected_messages=expected,
            quiet_ms=quiet_ms(emulated=emulated),
            limit_ms=limit_ms,
        )
        came = receiver.api.receiver_collect(drain, timeout_s=limit_ms / 1000 + 10)
        self._check(receiver, "receiver.collect", [flow.flow for flow in came.flows])
        steps = math.ceil((self.work.duration_s * 1000 + limit_ms) / STEP_MS) + LATE_STEPS
        series = [_series(receiver, flow, steps) for flow in range(self.work.flows)]
        return Flows(run, sent, came, series)

    def _check(self, end: End, method: str, flows: Sequence[int]) -> None:
        if flows != [*range(self.work.flows)]:
            problem = f"flows: numbers {flows} of {self.work.flows}"
            raise AgentBreach(end.agent, f"answered {method}", problem, UNTRUE)


def phases(trial: int, work: StreamSpec | TimedKeys, begin: float | None) -> GoParams:
    """What `sender.go` and `echo.go` are asked: to begin at a moment of the host's clock, or at once."""
    at_ns = None if begin is None else round(begin * 1e9)
    return GoParams(trial=trial, warmup_s=work.warmup_s or None, duration_s=work.duration_s, at_ns=at_ns)


def _series(receiver: End, flow: int, most: int) -> list[int]:
    def ask(first: int, timeout_s: float) -> Part[int]:
        answer = receiver.api.receiver_series(ReceiverSeriesParams(flow=flow, first=first), timeout_s)
        return answer.bytes, answer.steps

    return read_series(receiver.agent, "receiver.series", "bytes", most, ask, grows=True)
