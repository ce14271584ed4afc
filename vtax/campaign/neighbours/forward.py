"""Neighbours that forward frames of 64 bytes at a share of what they can (schlosser2011, section 3.4)."""

from dataclasses import replace
from datetime import UTC, datetime
from statistics import fmean
from typing import Any

from vtax.campaign.forwarding.passage import Passage
from vtax.campaign.forwarding.rows import flow_row
from vtax.campaign.forwarding.trial import DRAIN_LIMIT_MS, QUIET_MS, Measured, as_run, probe_interval
from vtax.campaign.neighbours.base import Beside, Neighbours, Turn
from vtax.campaign.neighbours.findings import missed
from vtax.campaign.path import PathFailed
from vtax.machine.agent import AgentError, AgentGone
from vtax.scenario import Forwarding
from vtax.testbed.guest import NEIGHBOUR
from vtax.testbed.neighbours import FAR_AGENT, OwnLinks
from vtax.units import mbps

FRAME_BYTES = 64
MAXIMUM_TRIAL = 0xFFFFFFFE
"""Trial number of the frames that its maximum is found by."""
MAXIMUM_WARMUP_S, MAXIMUM_S = 0.3, 0.7
CARRIED = 0.98
"""A neighbour that passes so much of a flood on has shown its maximum by that."""
STEPS = (1 / 3, 2 / 3)
"""Loads between what it passes on of a flood and the flood, in logarithms: platforms may pass on more of less."""


class Forward(Neighbours):
    """All are offered the same load, over links of their own."""

    site: OwnLinks

    def __init__(self, site: OwnLinks, load_share: float, agents_cpu: int) -> None:
        super().__init__(site)
        self._load_share, self._cpu = load_share, agents_cpu
        self._passage = Passage(site.far, FAR_AGENT, site.far, FAR_AGENT)
        self._maximum_mbps = 0.0
        self._turn: Turn | None = None
        self._ticket: str | None = None

    def ready(self) -> None:
        """Wait until frames pass, and find how many can: the guest that is measured is idle."""
        self.site.far.start_agent(FAR_AGENT, "agents")
        links = self.site.links
        self._passage.ask_sink("sink.open", {"streams": [each.at_sink for each in links], "attach": "auto"})
        sources = {"cpu": self._cpu, "streams": [each.at_source for each in links]}
        self._passage.ask_source("source.open", sources)
        self._passage.await_ready(FRAME_BYTES, lambda: "the neighbours' own links")
        self._maximum_mbps = self._find_maximum()

    def open(self, turn: Turn) -> None:
        """Have the sink await the trial's frames."""
        self._turn = turn
        self._arm(turn.trial, self._work(turn.cell.timed.warmup_s, turn.cell.timed.duration_s))

    def go(self, begin: float) -> None:
        """Send from now on."""
        assert self._turn is not None  # noqa: S101 - opened before
        work = self._turn.cell.timed
        self._ticket = self._run(self._turn.trial, self._work(work.warmup_s, work.duration_s))

    def collect(self) -> Beside:
        """What each was offered, and passed on."""
        assert self._turn is not None and self._ticket is not None  # noqa: S101 - it went
        given = self._turn.cell.timed
        ticket, self._ticket = self._ticket, None
        source = self.site.far.finish(ticket, given.warmup_s + given.duration_s + 10)
        work = self._work(given.warmup_s, given.duration_s)
        cell = replace(self._turn.cell, workload=work)
        measured = Measured(self._turn.trial, cell, datetime.now(UTC), mechanism="raw", source=source)
        sunk = {stream["stream"]: stream for stream in self._drained(source)["streams"]}
        flows = []
        for number, stream in enumerate(source["streams"]):
            arrived = sunk[stream["stream"]]
            arrived["times"] = self._passage.ask_sink("sink.histograms", {"stream": stream["stream"]})
            row = flow_row(measured, stream, arrived, "neighbour", number)
            flows.append({**row, "stream": 0})
        findings = [finding for row in flows for finding in missed(row)]
        thread = source["thread"] or {"run_ns": 0}
        share = thread["run_ns"] / (source["end_ns"] - source["start_ns"])
        return Beside(flows, findings, self._maximum_mbps, share)

    def close(self) -> None:
        """Nothing is sent any more."""
        ticket, self._ticket = self._ticket, None
        if ticket is None:
            return
        try:
            self._passage.ask_source("abort", {})
            self.site.far.finish(ticket, 10.0)
        except (AgentGone, AgentError):
            return

    def _work(self, warmup_s: float, duration_s: float) -> Forwarding:
        """The load of a trial, of each neighbour."""
        return frames(self._load_share * self._maximum_mbps, warmup_s, duration_s)

    def _arm(self, trial: int, work: Forwarding) -> None:
        arm = {"phase": "measure", "frame_bytes": FRAME_BYTES, "probe_interval": probe_interval(work)}
        self._passage.ask_sink("sink.arm", {"trial": trial, **arm})

    def _run(self, trial: int, work: Forwarding) -> str:
        shares_cpu = work.intended_mbps is not None
        asked = {**as_run(trial, work, "raw"), "shares_cpu": shares_cpu}
        return self.site.far.begin(FAR_AGENT, "source.run", asked)

    def _drained(self, source: dict[str, Any]) -> dict[str, Any]:
        """What the sink counted, once all of a run has come."""
        expected = [
            {"stream": stream["stream"], "frames": stream["phases"][-1]["frames_sent"]}
            for stream in source["streams"]
        ]
        drain = {"expected": expected, "quiet_ms": QUIET_MS, "limit_ms": DRAIN_LIMIT_MS}
        sunk: dict[str, Any] = self._passage.ask_sink("sink.collect", drain)
        return sunk

    def _find_maximum(self) -> float:
        """Mbit/s of each neighbour in the mean, at layer 1, while all forward and nobody else does."""
        offered, best = self._carried(None)
        if not best:
            raise PathFailed(f"no {NEIGHBOUR} forwards anything of a flood")
        if best < CARRIED * offered:
            flood = best
            best = max(flood, *(self._carried(flood * (offered / flood) ** step)[1] for step in STEPS))
        return best

    def _carried(self, load_mbps: float | None) -> tuple[float, float]:
        """What of a load was offered and passed on in the mean."""
        work = frames(load_mbps, MAXIMUM_WARMUP_S, MAXIMUM_S)
        self._arm(MAXIMUM_TRIAL, work)
        ticket = self._run(MAXIMUM_TRIAL, work)
        source = self.site.far.finish(ticket, MAXIMUM_WARMUP_S + MAXIMUM_S + 10)
        sent = [stream["phases"][-1]["frames_sent"] for stream in source["streams"]]
        came = [stream["received"] for stream in self._drained(source)["streams"]]
        return mbps(fmean(sent) / MAXIMUM_S, FRAME_BYTES), mbps(fmean(came) / MAXIMUM_S, FRAME_BYTES)


def frames(load_mbps: float | None, warmup_s: float, duration_s: float) -> Forwarding:
    """Frames for a neighbour; None is a flood."""
    return Forwarding.model_validate(
        {
            "kind": "forwarding",
            "frame_bytes": FRAME_BYTES,
            "intended_mbps": "max" if load_mbps is None else load_mbps,
            "warmup_s": warmup_s,
            "duration_s": duration_s,
        }
    )
