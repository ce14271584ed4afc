"""What vtax's trials on a ground came to: whole ones in a tool's terms, and plain one-way delay in either direction."""

import math
from dataclasses import dataclass

from validation.agreement import passage
from validation.agreement.flow import COUNTS, Flow
from validation.agreement.ground import STREAM, End, Ground
from validation.trials import ATTEMPTS, NoTrial, Trials
from vtax.agent_api import Durations, ExpectedStream, Phase, SinkCollectParams, SourceRunAnswer
from vtax.keys.cell import Cell
from vtax.keys.frames import FrameSpec
from vtax.results import number, whole
from vtax.statistics import decode
from vtax.trial.timeouts import DRAIN_LIMIT_MS, quiet_ms
from vtax.workloads.forwarding.measure.instrument import WAIT_INVALID
from vtax.workloads.forwarding.measure.path import ForwardingPath


@dataclass(frozen=True)
class OneWay:
    """vtax's median delay in one direction, and how much of it lies before a capture where frames leave."""

    p50_ns: float
    before_capture_ns: float

    @property
    def captured_ns(self) -> float:
        """From that capture to the sink."""
        return self.p50_ns - self.before_capture_ns


def flow(trials: Trials, path: ForwardingPath, cell: Cell, *, emulated: bool) -> tuple[int, Flow]:
    """Measure a trial: its number, and its row of `flows`. Raises NoTrial."""
    record = trials.usable(path, cell, emulated=emulated)
    (row,) = record.flows
    delay_p50_ns = row["latency_p50_ns"]
    return whole(record.trial["trial_id"]), Flow(
        **{name: whole(row[f"frames_{name}"]) for name in COUNTS},
        received_mbps=number(row["received_mbps"]),
        delay_p50_ns=math.nan if delay_p50_ns is None else number(delay_p50_ns),
    )


def delay_p50_ns(
    trials: Trials, ground: Ground, frame_bytes: int, fps: float, duration_s: float
) -> tuple[int, float]:
    """Median delay from the near to the far end, every frame a probe; with the number of its trial."""
    sender, receiver = ground.near, ground.far
    for _ in range(ATTEMPTS):
        trial, frames = next(trials.numbers), FrameSpec(frame_bytes)
        receiver.host.api(receiver.receiver).sink_arm(frames.arm(trial, "measure"))
        phases_s: dict[Phase, float] = {"warmup": passage.WARMUP_S, "measure": duration_s}
        run = frames.run(trial, "raw", phases_s, intended_fps=fps, probe_fps=fps)
        sent = sender.host.api(sender.sender).source_run(run)
        latency = _collected(ground, receiver, sent)
        if (time := sent.threads[0].time) is None:
            raise NoTrial(f"the kernel does not count how long {sender.sender} waited for its CPU")
        if time.run_delay_ns <= WAIT_INVALID * (sent.end_ns - sent.start_ns):
            found = decode(latency.histogram).quantile(0.5)
            if found is None:
                raise NoTrial(f"{latency.count} frames came from {sender.interface} to {receiver.interface}")
            return trial, found
    raise NoTrial(f"the source at {sender.interface} was kept waiting for its CPU")


def _collected(ground: Ground, receiver: End, sent: SourceRunAnswer) -> Durations:
    strand_frames = sent.streams[0].phases[-1].strand_frames
    expected = [ExpectedStream(stream=STREAM.stream, strand_frames=strand_frames)]
    collect = SinkCollectParams(
        expected=expected, quiet_ms=quiet_ms(emulated=ground.emulated), limit_ms=DRAIN_LIMIT_MS
    )
    return receiver.host.api(receiver.receiver).sink_collect(collect).streams[0].latency
