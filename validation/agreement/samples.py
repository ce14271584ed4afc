"""What vtax and the other tools measured on one path, in the order they did."""

from dataclasses import dataclass, field
from pathlib import Path

from validation.agreement import capture, iperf3, roundtrip
from validation.agreement.capture import captured
from validation.agreement.flow import Flow
from validation.agreement.ground import Ground, path_ground
from validation.agreement.plant import Counts, Planted, planted
from validation.agreement.roundtrip import RoundTrip
from validation.agreement.trials import OneWay, delay_p50_ns, flow
from validation.trials import Machine, Trials, cell, path_of
from vtax.machine.clock import clock_offset_ns
from vtax.platforms import Preset
from vtax.units import mbps

FRAME_BYTES = 128
FPS = 5000
"""What every platform carries without a loss of its own."""
TRIAL_S = 2
"""In whole seconds, as iperf3 takes them."""
PER_10000 = 100
"""How many frames are planted to be lost, to come twice, and to be overtaken."""
REPEATS = 5
ROUNDS = 11
"""Of round trips: without the two lowest and highest, their differences are a 93% interval of the median."""
ROUND_TRIPS_PER_S = 1000
ROUND_TRIPS_S = 0.6


@dataclass
class RoundTrips:
    """Round trips from one end: of each round vtax's delay to the far end, and what the tools made of both ways."""

    there: list[OneWay] = field(default_factory=list)
    tools: list[dict[str, RoundTrip]] = field(default_factory=list)


@dataclass(frozen=True)
class Samples:
    """One platform's."""

    flow: Flow
    seen: Flow
    planted: Counts
    loads: list[tuple[Flow, iperf3.Sent]]
    there: RoundTrips
    """From the source's end to the sink's."""
    back: RoundTrips
    """From the sink's end to the source's."""


def on_platform(preset: Preset, machine: Machine, trials: Trials, directory: Path) -> Samples:
    """Everything on one path of a platform; raises PlatformUnusable, PathFailed, NoTrial, ToolFailed."""
    asked = cell(preset.name, FRAME_BYTES, mbps(FPS, FRAME_BYTES), TRIAL_S)
    host_cpu, record = machine.cpus["host"][0], machine.record
    departures, arrivals = directory / "departures.pcap", directory / "arrivals.pcap"
    with path_of(preset, asked, machine) as (path, emulated):
        testbed = path.testbed
        all_kinds = Planted(lost=PER_10000, twice=PER_10000, late=PER_10000)
        with (
            planted(testbed.uut.namespace, all_kinds, FRAME_BYTES, directory) as planter,
            captured(testbed.source, record, host_cpu, "src0", departures),
            captured(testbed.uut, record, host_cpu, "out0", arrivals),
        ):
            number, ours = flow(trials, path, asked, emulated=emulated)
            truth = planter.of(number)
        seen = capture.seen(capture.frames(departures), capture.frames(arrivals), number, clock_offset_ns())
        ground = path_ground(path, record, emulated=emulated)
        loads = []
        # iperf3 takes a datagram that comes twice for one that was late, and its loss for mended.
        with planted(testbed.uut.namespace, Planted(lost=PER_10000), FRAME_BYTES, directory):
            for _ in range(REPEATS):
                _, other = flow(trials, path, asked, emulated=emulated)
                loads.append((other, iperf3.measure(ground, FRAME_BYTES, FPS, TRIAL_S, directory)))
        return Samples(ours, seen, truth, loads, *_round_trips(ground, host_cpu, trials, directory))


def _round_trips(
    ground: Ground, capture_cpu: int, trials: Trials, directory: Path
) -> tuple[RoundTrips, RoundTrips]:
    """From either end; vtax and the tools take turns at being first, which evens out what drifts."""
    load = (FRAME_BYTES, ROUND_TRIPS_PER_S, ROUND_TRIPS_S)
    there, back = RoundTrips(), RoundTrips()

    def by_vtax(ground: Ground, found: RoundTrips) -> None:
        file = directory / "one-way.pcap"
        with captured(ground.near.host, ground.record, capture_cpu, ground.near.interface, file):
            trial, p50_ns = delay_p50_ns(trials, ground, *load)
        before_ns = capture.before_capture_ns(capture.frames(file), trial, clock_offset_ns())
        found.there.append(OneWay(p50_ns, before_ns))

    def by_tools(ground: Ground, found: RoundTrips) -> None:
        found.tools.append(roundtrip.measure(ground, capture_cpu, *load, directory))

    for at in range(ROUNDS):
        for way in ((ground, there), (ground.turned(), back)):
            for measure in (by_vtax, by_tools) if at % 2 == 0 else (by_tools, by_vtax):
                measure(*way)
    return there, back
