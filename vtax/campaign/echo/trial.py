"""One trial of echoes: have the other routers forward, ask through the first, collect."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

from vtax.agent_api import EchoCollectAnswer, EchoGoAnswer, EchoOpenParams
from vtax.campaign.closing import closing
from vtax.campaign.ends import End, EndsPath
from vtax.campaign.observe import begin_window, observe, watch_cpus
from vtax.campaign.observed import Observed
from vtax.campaign.streams import HEAD_START_S, Flows, Streams, phases
from vtax.scenario import Cell, Echo
from vtax.testbed.guest_state import GuestState

TIMEOUT_MS = 2000
TIMEOUT_EMULATED_MS = 10_000
"""An answer that takes longer is none."""


@dataclass
class Echoed(Observed):
    """Everything one trial brought home."""

    run: EchoGoAnswer | None = None
    tally: EchoCollectAnswer | None = None
    others: dict[int, Flows] = field(default_factory=dict)
    """What the other guests forwarded, by their numbers; empty where they were idle, or there are none."""

    @property
    def work(self) -> Echo:
        """What was asked of it."""
        return self.cell.echo

    @property
    def echoes(self) -> tuple[EchoGoAnswer, EchoCollectAnswer]:
        """How echoes went, and what came of them: of a trial that did not fail."""
        assert self.run is not None and self.tally is not None  # noqa: S101 - it has both
        return self.run, self.tally

    @property
    def start_spread_ms(self) -> float:
        """Between the first and the last start of all that was measured."""
        run, _ = self.echoes
        starts = [run.start_ns, *(flows.run.start_ns for flows in self.others.values())]
        return (max(starts) - min(starts)) / 1e6


def measure(
    path: EndsPath, cell: Cell, trial: int, guests: dict[str, GuestState], *, emulated: bool
) -> Echoed:
    """Measure `cell` on a ready path whose guests stand so. Never raises for what agents do: that is in `failure`."""
    measured = Echoed(trial, cell, datetime.now(UTC))
    observe(path, measured, guests, lambda: _run(path, measured, emulated), emulated=emulated)
    return measured


def _run(path: EndsPath, measured: Echoed, emulated: bool) -> None:
    work = measured.work
    (asker, answerer), *others = path.ends
    streams = Streams(others if work.others == "tcp" else [], work.stress, measured.trial)
    timeout_ms = TIMEOUT_EMULATED_MS if emulated else TIMEOUT_MS
    with closing(streams.close, asker.api.echo_close):
        asker.api.echo_open(_way(asker, answerer, work, timeout_ms))
        streams.connect(path.testbed.settings.mtu)
        begin = time.monotonic() + HEAD_START_S
        begin_window(path, work, begin)
        runs = streams.go(begin)
        asked = asker.api.begin_echo_go(phases(measured.trial, work, begin))
        measured.cpu, measured.far_end_cpu = watch_cpus(path, work, begin)
        patience_s = work.warmup_s + work.duration_s + timeout_ms / 1000 + 10
        measured.run = asked(patience_s)
        measured.tally = asker.api.echo_collect()
        told = [finish(patience_s) for finish in runs]
        measured.others = dict(enumerate(streams.collect(told, emulated=emulated), start=1))
        measured.sampled = path.cpu_meter.read()


def _way(asker: End, answerer: End, work: Echo, timeout_ms: int) -> EchoOpenParams:
    return EchoOpenParams(
        cpu=asker.cpu,
        interface=asker.interface,
        local_address=asker.address,
        remote_address=answerer.address,
        payload_bytes=work.payload_bytes,
        interval_ms=work.interval_ms,
        timeout_ms=timeout_ms,
    )
