"""The streams of data of a guest as rows of `flows` and `series`."""

from vtax.agent_api import SentFlow
from vtax.results import Row
from vtax.trial.endpoints.streams import Flows
from vtax.trial.trial_rows import Role

STEP_S = 0.1


def flow_rows(trial: int, role: Role, guest: int, flows: Flows, window_s: float) -> list[Row]:
    """A row of `flows` for each of the guest's."""
    return [
        {
            "trial_id": trial,
            "role": role,
            "guest": guest,
            "stream": came.flow,
            "intended_mbps": None,
            "goodput_mbps": came.goodput_mbps,
            "offered_goodput_mbps": sent.bytes * 8 / window_s / 1e6,
            "messages_sent": sent.messages,
            "messages_received": came.messages,
            "loss_ratio": came.lost / sent.messages if came.lost is not None and sent.messages else None,
            "send_errors": sum(sent.send_errors.values()),
            "retransmissions": _retransmissions(sent),
            "rtt_ns": None if sent.tcp is None else sent.tcp.rtt_us * 1000,
            "send_buffer_bytes": sent.send_buffer_bytes,
            "receive_buffer_bytes": came.receive_buffer_bytes,
            "duration_s": window_s,
        }
        for sent, came in zip(flows.sent, flows.came.flows, strict=True)
    ]


def _retransmissions(sent: SentFlow) -> int | None:
    state = sent.tcp or sent.sctp
    return None if state is None else state.retransmissions


def series_rows(trial: int, role: Role, guest: int, flows: Flows) -> list[Row]:
    """A row of `series` for each 100 ms of each of the guest's flows."""
    return [
        {
            "trial_id": trial,
            "role": role,
            "guest": guest,
            "stream": stream,
            "step": step,
            "goodput_mbps": count * 8 / STEP_S / 1e6,
        }
        for stream, counts in enumerate(flows.series)
        for step, count in enumerate(counts)
    ]


def goodput_words(guests: list[Flows]) -> str:
    """What all of them received together, and the least and the most of a guest, for whoever watches."""
    rates = [sum(flow.goodput_mbps for flow in flows.came.flows) for flows in guests]
    each = "" if len(rates) == 1 else f", {min(rates):.1f} to {max(rates):.1f} a guest"
    return f"goodput {sum(rates):.1f} Mbit/s{each}"
