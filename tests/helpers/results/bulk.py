"""Results of bulk streams with chosen numbers, so that a test can compute by hand what a view must show."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.helpers.results.forwarding import make
from vtax.results import Result, TrialRecord

WORKLOAD = {"kind": "bulk", "warmup_s": 2.0, "duration_s": 10.0}
TESTBED = {"link_mbps": 1000.0, "flow_control": True, "mtu": 1500, "uplink": "shared", "guests": 1}
FIGURES = ["goodput-by-guests", "cpu-by-guests"]


@dataclass(frozen=True)
class MadeBulk:
    """One trial of one cell: what each guest got, and whose the CPU time was."""

    goodput_mbps: tuple[float, ...] = (900.0,)
    platform: str = "raw"
    block: int = 0
    direction: str = "sending"
    transport: str = "tcp"
    message_bytes: int | None = None
    rtt_ns: float | None = 150_000.0
    host_percent: float | None = 60.0
    guest_percent: tuple[float, ...] = ()
    others_percent: tuple[tuple[str, float], ...] = (("host", 30.0), ("peer", 40.0), ("switch", 5.0))
    verdict: str = "valid"
    reasons: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    emulated: bool = False
    further: tuple[tuple[str, str], ...] = ()
    placement: str | None = None
    buffer_bytes: int | None = None
    retransmissions: int | None = None

    @property
    def guests(self) -> int:
        return len(self.goodput_mbps)

    @property
    def cell(self) -> str:
        own = f"platform={self.platform} guests={self.guests} transport={self.transport} direction={self.direction}"
        message = [] if self.message_bytes is None else [f"message_bytes={self.message_bytes}"]
        buffer = [] if self.buffer_bytes is None else [f"buffer_bytes={self.buffer_bytes}"]
        return " ".join([own, *message, *buffer, *(f"{name}={value}" for name, value in self.further)])

    def record(self, trial_id: int) -> TrialRecord:
        trial = {
            "trial_id": trial_id,
            "cell": self.cell,
            "block": self.block,
            "position": trial_id,
            "repetition": self.block,
            "attempt": 0,
            "platform": self.platform,
            "guests": self.guests,
            "transport": self.transport,
            "direction": self.direction,
            "message_bytes": self.message_bytes,
            "placement": self.placement,
            "buffer_bytes": self.buffer_bytes,
            "accelerator": "emulated" if self.emulated else "none",
            "emulated": self.emulated,
            "verdict": self.verdict,
            "marks": list(self.marks),
            "reasons": list(self.reasons),
            "started_at": datetime(2025, 1, 1, tzinfo=UTC),
            **dict(self.further),
        }
        flows = [
            {
                "role": "victim",
                "guest": guest,
                "stream": 0,
                "goodput_mbps": goodput,
                "offered_goodput_mbps": goodput,
                "rtt_ns": self.rtt_ns,
                "retransmissions": self.retransmissions,
                "send_buffer_bytes": 2 * (self.buffer_bytes or 8192),
                "receive_buffer_bytes": 2 * (self.buffer_bytes or 65536),
                "duration_s": 10.0,
            }
            for guest, goodput in enumerate(self.goodput_mbps)
        ]
        return TrialRecord(trial, flows, cpu=[*self._counted(), *self._ledger()])

    def _counted(self) -> Iterable[dict[str, Any]]:
        if self.host_percent is not None:
            yield {"host": "uut", "domain": "host", "component": "total", "percent": self.host_percent}

    def _ledger(self) -> Iterable[dict[str, Any]]:
        """Two CPUs: what is nobody's is idle; a guest's time comes in two components."""
        accounts = [
            ("guest", guest, component, percent / 2)
            for guest, percent in enumerate(self.guest_percent)
            for component in ("vcpu 0", "vhost")
        ] + [(domain, None, "agent", percent) for domain, percent in self.others_percent]
        if self.guest_percent:
            idle = 200.0 - sum(percent for *_, percent in accounts)
            for domain, guest, component, percent in [*accounts, ("idle", None, "idle", idle)]:
                yield {
                    "host": "local",
                    "domain": domain,
                    "guest": guest,
                    "component": component,
                    "percent": percent,
                    "samples": round(percent),
                }


def bulk_blocks(goodputs: Sequence[Sequence[float]], **fixed: Any) -> list[MadeBulk]:
    """One trial a block in which the guests got these."""
    return [MadeBulk(tuple(goodput), block=block, **fixed) for block, goodput in enumerate(goodputs)]


def bulk_campaign() -> list[MadeBulk]:
    """Raw, container and UML with 1 and 2 guests in three blocks, TCP and UDP."""
    return [
        trial
        for transport in ("tcp", "udp")
        for platform, share, emulated in (("raw", 1.0, False), ("container", 0.9, False), ("uml", 0.1, True))
        for guests in (1, 2)
        for trial in bulk_blocks(
            [[share * rate / guests + 3 * guest for guest in range(guests)] for rate in (900, 905, 910)],
            platform=platform,
            transport=transport,
            rtt_ns=150_000.0 if transport == "tcp" else None,
            guest_percent=tuple(20.0 + guest for guest in range(guests)),
            emulated=emulated,
        )
    ]


def make_bulk(directory: Path, trials: Iterable[MadeBulk], **campaign: Any) -> Result:
    """Write the trials through the real writer and open the result."""
    trials = list(trials)
    factors: dict[str, list[Any]] = {
        "platform": list(dict.fromkeys(trial.platform for trial in trials)),
        "guests": sorted({trial.guests for trial in trials}),
        "transport": list(dict.fromkeys(trial.transport for trial in trials)),
        **{name: [] for trial in trials for name, _ in trial.further},
    }
    scenario = {"workload": WORKLOAD, "testbed": TESTBED, "factors": factors, "figures": FIGURES}
    return make(directory, trials, scenario={**scenario, **campaign.pop("scenario", {})}, **campaign)
