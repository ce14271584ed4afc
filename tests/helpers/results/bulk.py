"""Trials of bulk streams with chosen numbers, so that a test can compute by hand what a view must show."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tests.helpers.results.builder import Row, Trial, small

WORKLOAD = {"kind": "bulk", "warmup_s": 2.0, "duration_s": 10.0}
TESTBED = {"link_mbps": 1000.0, "flow_control": True, "mtu": 1500, "uplink": "shared", "guests": 1}
FIGURES = ["goodput-by-guests", "cpu-by-guests"]
TICK_PERCENT = 1.0
"""What a tick of the kernel is in percent of a CPU, in a trial of a second."""


@dataclass(frozen=True)
class MadeBulk(Trial):
    """What each guest got, and whose the CPU time was."""

    SCENARIO: ClassVar = {"workload": WORKLOAD, "testbed": TESTBED, "figures": FIGURES}
    KEY: ClassVar = ("guests", "transport", "direction", "message_bytes", "buffer_bytes")
    FACTORS: ClassVar = ("guests", "transport")

    goodput_mbps: tuple[float, ...] = (900.0,)
    direction: str = "sending"
    transport: str = "tcp"
    message_bytes: int | None = None
    rtt_ns: float | None = 150_000.0
    host_percent: float | None = 60.0
    guest_percent: tuple[float, ...] = ()
    others_percent: tuple[tuple[str, float], ...] = (("host", 30.0), ("peer", 40.0), ("switch", 5.0))
    placement: str | None = None
    buffer_bytes: int | None = None
    retransmissions: int | None = None

    @property
    def guests(self) -> int:
        return len(self.goodput_mbps)

    def columns(self) -> Row:
        return {"placement": self.placement}

    def rows(self) -> dict[str, list[Row]]:
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
        return {"flows": flows, "cpu": [*self._counted(), *self._ledger()]}

    def _counted(self) -> Iterable[Row]:
        if self.host_percent is not None:
            low, high = self.host_percent - TICK_PERCENT, self.host_percent + TICK_PERCENT
            known = {"percent": self.host_percent, "low": low, "high": high}
            yield {"host": "uut", "domain": "host", "component": "total", **known}

    def _ledger(self) -> Iterable[Row]:
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


RESULT = small(
    [
        *bulk_blocks([[900.0], [905.0], [910.0]]),
        *bulk_blocks([[600.0], [605.0], [610.0]], platform="container"),
    ],
    "anhalt2009",
    "sending",
)
