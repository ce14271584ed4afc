"""vtax's own trials on a ground: whole ones as a campaign has them, and plain one-way delay in either direction."""

import itertools
import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pydantic import JsonValue

from validation.agreement import passage
from validation.agreement.flow import COUNTS, Flow
from validation.agreement.ground import STREAM, End, Ground
from vtax.agent_api import Durations, ExpectedStream, Phase, SinkCollectParams, SourceRunAnswer
from vtax.inputs import Document
from vtax.keys.cell import Cell
from vtax.keys.frames import FrameSpec
from vtax.results import number, whole
from vtax.scenario import Scenario
from vtax.statistics import decode
from vtax.trial.frames.measured import Measured
from vtax.trial.timeouts import DRAIN_LIMIT_MS, quiet_ms
from vtax.trial.verdict import Verdict
from vtax.units import mbps
from vtax.workloads.forwarding.measure.instrument import WAIT_INVALID
from vtax.workloads.forwarding.measure.path import ForwardingPath as TestPath
from vtax.workloads.forwarding.measure.rows import Instrument
from vtax.workloads.forwarding.measure.trial import ForwardingTrial

ATTEMPTS = 3
"""As a campaign repeats invalid trials."""
WARMUP_S = 0.2


@dataclass(frozen=True)
class OneWay:
    """vtax's median delay in one direction, and how much of it lies before a capture where frames leave."""

    p50_ns: float
    before_capture_ns: float

    @property
    def captured_ns(self) -> float:
        """From that capture to the sink."""
        return self.p50_ns - self.before_capture_ns


class NoTrial(Exception):  # noqa: N818 - it states what vtax did
    """vtax has no usable trial to compare with: why."""


@dataclass
class Trials:
    """Trials of one run; their numbers tell their frames apart."""

    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def whole(self, path: TestPath, cell: Cell, *, emulated: bool) -> tuple[int, Flow]:
        """A trial as a campaign measures, judges and records it: its number, and its row of `flows`."""
        reasons: tuple[str, ...] = ()
        for _ in range(ATTEMPTS):
            at = next(self.numbers)
            measured = Measured(
                at, cell, datetime.now(UTC), load=cell.frame_load, emulated=emulated, mechanism="raw"
            )
            measured.egress_words = path.egress_words
            trial = ForwardingTrial(measured, Instrument())
            trial.measure(path, path.guest_states())
            judgement = trial.judgement()
            if judgement.verdict is not Verdict.INVALID:
                (row,) = trial.record(judgement, {}, "local").flows
                delay_p50_ns = row["latency_p50_ns"]
                return measured.trial, Flow(
                    **{name: whole(row[f"frames_{name}"]) for name in COUNTS},
                    received_mbps=number(row["received_mbps"]),
                    delay_p50_ns=math.nan if delay_p50_ns is None else number(delay_p50_ns),
                )
            reasons = judgement.reasons
        raise NoTrial(f"{cell.platform}: {'; '.join(reasons)}")

    def delay_p50_ns(
        self, ground: Ground, frame_bytes: int, fps: float, duration_s: float
    ) -> tuple[int, float]:
        """Median delay from the near to the far end, every frame a probe; with the number of its trial."""
        sender, receiver = ground.near, ground.far
        for _ in range(ATTEMPTS):
            trial, frames = next(self.numbers), FrameSpec(frame_bytes)
            receiver.host.api(receiver.receiver).sink_arm(frames.arm(trial, "measure"))
            phases_s: dict[Phase, float] = {"warmup": passage.WARMUP_S, "measure": duration_s}
            run = frames.run(trial, "raw", phases_s, intended_fps=fps, probe_fps=fps)
            sent = sender.host.api(sender.sender).source_run(run)
            latency = _collected(ground, receiver, sent)
            if sent.thread is None:
                raise NoTrial(f"the kernel does not count how long {sender.sender} waited for its CPU")
            if sent.thread.run_delay_ns <= WAIT_INVALID * (sent.end_ns - sent.start_ns):
                found = decode(latency.histogram).quantile(0.5)
                if found is None:
                    raise NoTrial(
                        f"{latency.count} frames came from {sender.interface} to {receiver.interface}"
                    )
                return trial, found
        raise NoTrial(f"the source at {sender.interface} was kept waiting for its CPU")


def _collected(ground: Ground, receiver: End, sent: SourceRunAnswer) -> Durations:
    frames = sent.streams[0].phases[-1].frames_sent
    expected = [ExpectedStream(stream=STREAM.stream, frames=frames)]
    collect = SinkCollectParams(
        expected=expected, quiet_ms=quiet_ms(emulated=ground.emulated), limit_ms=DRAIN_LIMIT_MS
    )
    return receiver.host.api(receiver.receiver).sink_collect(collect).streams[0].latency


def cell(platform: str, frame_bytes: int, fps: float, duration_s: float) -> Cell:
    """The cell of one platform at one load, as a scenario file would name it."""
    scenario: dict[str, JsonValue] = {
        "name": "validation/agreement",
        "title": "Agreement with other tools",
        "question": "Do vtax and other tools measure the same?",
        "workload": {
            "kind": "forwarding",
            "warmup_s": WARMUP_S,
            "duration_s": duration_s,
            "streams": 1,
            "frame_bytes": frame_bytes,
            "intended_mbps": mbps(fps, frame_bytes),
        },
        "testbed": {"link_mbps": 1000, "flow_control": True, "mtu": 1500},
        "factors": {"platform": [platform]},
        "repetitions": 1,
        "figures": [],
    }
    (only,) = Scenario.from_document(Document(Path("validation/agreement"), scenario)).cells()
    return only
