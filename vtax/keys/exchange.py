"""Requests and answers between two ends: what params of requesters and responders are made of."""

from dataclasses import dataclass, field

from vtax.agent_api import SocketOptions
from vtax.keys.endpoints import Transport


@dataclass(frozen=True)
class ExchangeSpec:
    """Requests of one end to another; where nothing else is said, over TCP and each once the one before is answered."""

    warmup_s: float
    duration_s: float
    message_bytes: int
    """Length of a request."""
    transport: Transport = "tcp"
    response_bytes: int | None = None
    """Length of an answer; None: as long as the request."""
    requests_per_s: float | None = None
    """How often a request is due; None: each as soon as the one before is answered."""
    options: SocketOptions = field(default_factory=lambda: SocketOptions(no_delay=False))
