"""One trial of bulk streams: listen, connect, go, warm up, measure, drain, collect."""

import time
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime

from vtax.campaign.closing import closing
from vtax.campaign.ends import EndsPath
from vtax.campaign.observe import begin_window, observe, watch_cpus
from vtax.campaign.observed import Observed
from vtax.campaign.streams import HEAD_START_S, Flows, Streams
from vtax.scenario import Bulk, Cell
from vtax.testbed.guest_state import GuestState

PEER_BUFFER_BYTES = 16 << 20
"""Datagrams of a tenth of a second at 1000 Mbit/s."""


@dataclass
class Streamed(Observed):
    """Everything one trial brought home."""

    flows: list[Flows] = field(default_factory=list)
    """By the guest's number."""
    far_cpus: Collection[int] = ()
    """Where a far guest runs, if on CPUs of its own."""

    @property
    def work(self) -> Bulk:
        """What was asked of it."""
        return self.cell.bulk

    @property
    def instrument_receives(self) -> bool:
        """Whether receivers are bare far ends: what these lose no guest lost."""
        return self.work.has_bare_peers and self.work.direction != "receiving"

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


def measure(
    path: EndsPath, cell: Cell, trial: int, guests: dict[str, GuestState], *, emulated: bool
) -> Streamed:
    """Measure `cell` on a ready path whose guests stand so. Never raises for what agents do: that is in `failure`."""
    measured = Streamed(trial, cell, datetime.now(UTC))
    observe(path, measured, guests, lambda: _run(path, measured, emulated), emulated=emulated)
    return measured


def _run(path: EndsPath, measured: Streamed, emulated: bool) -> None:
    work = measured.work
    sending = work.direction == "sending"
    pairs = [(other, peer) if sending else (peer, other) for peer, other in path.ends]
    measured.far_cpus = path.far_cpus
    spares = measured.instrument_receives and work.transport == "udp"
    streams = Streams(pairs, work, measured.trial, PEER_BUFFER_BYTES if spares else None)
    with closing(streams.close):
        streams.connect(path.testbed.settings.mtu)
        together = all(sender.shares_clock for sender, _ in pairs)
        begin = time.monotonic() + (HEAD_START_S if together else 0.0)
        begin_window(path, work, begin)
        runs = streams.go(begin if together else None)
        measured.cpu, measured.far_end_cpu = watch_cpus(path, work, begin)
        told = [finish(work.warmup_s + work.duration_s + 10) for finish in runs]
        measured.flows = streams.collect(told, emulated=emulated)
        measured.sampled = path.cpu_meter.read()
