"""What vtax and the other tools measured on one path, in the order they did."""

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from validation.agreement import capture, iperf3, roundtrip
from validation.agreement.capture import Seen, captured
from validation.agreement.ground import Ground, path_ground, wire_ground
from validation.agreement.plant import Planted, planted
from validation.agreement.trials import Flow, Trials, cell
from vtax.campaign.path import Path as TestPath
from vtax.campaign.runner import local_settings
from vtax.machine.clock import clock_offset_ns
from vtax.machine.ownership import OwnershipRecord
from vtax.platforms import Preset

FRAME_BYTES = 128
FPS = 5000
"""What every platform carries without a loss of its own."""
TRIAL_S = 2
"""In whole seconds, as iperf3 takes them."""
PER_10000 = 100
"""How many frames are planted to be lost, to come twice, and to be overtaken."""
REPEATS = 5
ROUND_TRIPS_PER_S = 1000
ROUND_TRIPS_S = 0.6
LATENCY = Path("/dev/cpu_dma_latency")
"""Holding it open asks for a latency in microseconds: kernel's admin-guide/pm, PM QoS."""
SOCKPERF_S = 1.0
"""The shortest that sockperf takes; its warm-up is within."""


@dataclass
class RoundTrips:
    """Medians of each repetition, in nanoseconds: vtax's of either way, the tools' of both together."""

    sleeps: bool = False
    """Whether a guest with a kernel of its own is between the ends, whose CPU sleeps while nothing comes."""
    there: list[float] = field(default_factory=list)
    back: list[float] = field(default_factory=list)
    sockperf: list[float] = field(default_factory=list)
    ping: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Samples:
    """One platform's."""

    flow: Flow
    seen: Seen
    loads: list[tuple[Flow, iperf3.Sent]]
    round_trips: RoundTrips


def on_platform(
    preset: Preset, cpus: dict[str, list[int]], record: OwnershipRecord, trials: Trials, directory: Path
) -> Samples:
    """Everything on one path of a platform; raises PlatformUnusable, PathFailed, NoTrial, ToolFailed."""
    config = preset.resolve({})
    emulated = preset.platform().prepare(config).emulated
    asked = cell(preset.name, FRAME_BYTES, FPS, TRIAL_S)
    path = TestPath(preset, config, local_settings(asked, cpus), 1, record)
    testbed, host_cpu = path.testbed, cpus["host"][0]
    departures, arrivals = directory / "departures.pcap", directory / "arrivals.pcap"
    try:
        path.open()
        all_kinds = Planted(lost=PER_10000, twice=PER_10000, late=PER_10000)
        with (
            planted(testbed.uut.namespace, all_kinds, FRAME_BYTES, directory),
            captured(testbed.source, record, host_cpu, "src0", departures),
            captured(testbed.uut, record, host_cpu, "out0", arrivals),
        ):
            number, flow = trials.whole(path, asked, emulated=emulated)
        seen = capture.seen(capture.frames(departures), capture.frames(arrivals), number, clock_offset_ns())
        ground = path_ground(path, record, emulated=emulated)
        loads = []
        # iperf3 takes a datagram that comes twice for one that was late, and its loss for mended.
        with planted(testbed.uut.namespace, Planted(lost=PER_10000), FRAME_BYTES, directory):
            for _ in range(REPEATS):
                _, other = trials.whole(path, asked, emulated=emulated)
                loads.append((other, iperf3.measure(ground, FRAME_BYTES, FPS, TRIAL_S, directory)))
        return Samples(flow, seen, loads, _round_trips(ground, trials, directory))
    finally:
        path.close()


def on_the_wire(
    cpus: dict[str, list[int]], record: OwnershipRecord, trials: Trials, directory: Path
) -> RoundTrips:
    """Round trips over a link alone: what is the end hosts' and the tools' own."""
    settings = local_settings(cell("raw", FRAME_BYTES, FPS, TRIAL_S), cpus)
    with wire_ground(settings, record) as ground:
        return _round_trips(ground, trials, directory)


def _round_trips(ground: Ground, trials: Trials, directory: Path) -> RoundTrips:
    found = RoundTrips(ground.sleeps)
    for _ in range(REPEATS):
        for ways, there in ((found.there, True), (found.back, False)):
            ways.append(
                trials.delay_p50_ns(
                    ground,
                    there=there,
                    frame_bytes=FRAME_BYTES,
                    fps=ROUND_TRIPS_PER_S,
                    duration_s=ROUND_TRIPS_S,
                )
            )
        with _awake(ground):
            found.sockperf.append(
                roundtrip.sockperf_p50_ns(ground, FRAME_BYTES, ROUND_TRIPS_PER_S, SOCKPERF_S, directory)
            )
            found.ping.append(roundtrip.ping_p50_ns(ground, FRAME_BYTES, ROUND_TRIPS_PER_S, ROUND_TRIPS_S))
    return found


@contextlib.contextmanager
def _awake(ground: Ground) -> Iterator[None]:
    """Keep the ends' CPU awake while tools use it, as vtax's source does by waiting busily.

    A loop of idle priority gives way to whoever wakes up.
    """
    loop = ["chrt", "--idle", "0", "taskset", "-c", str(ground.cpu), "sh", "-c", "while :; do :; done"]
    with LATENCY.open("wb", buffering=0) as request:
        request.write(bytes(4))
        process = subprocess.Popen(loop, process_group=0)
        ground.record.add_process(process.pid, "idle loop")
        try:
            yield
        finally:
            process.kill()
            process.wait()
