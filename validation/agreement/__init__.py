"""Agreement: one path, measured by vtax and by iperf3, sockperf, ping, and tshark on a capture of the same trial."""

from pathlib import Path

from validation.agreement.checks import COMPARED, REFUTED, platform_checks
from validation.agreement.passage import WARMUP_S
from validation.agreement.process import ToolFailed
from validation.agreement.samples import (
    FPS,
    FRAME_BYTES,
    REPEATS,
    ROUND_TRIPS_PER_S,
    ROUNDS,
    on_platform,
)
from validation.equivalence import CONFIDENCE
from validation.section import Check, Section
from validation.trials import NoTrial, Trials, machine_held
from vtax.platforms import presets
from vtax.trial.failures import BUILD_FAILURES

PLATFORMS = ("raw", "container", "uml", "qemu-virtio")

TEXT = f"""
On each platform vtax brings a path up as a campaign does, and every tool uses it: the same namespaces, links and
guest. Frames are {FRAME_BYTES} bytes long, {FPS:,} a second.

*tshark*: while a trial runs, a BPF program where frames leave the unit under test loses 1% of them, sends 1% twice
and lets 1% be overtaken, and counts each. tcpdump captures at the source and at that place, behind the program: the
sink takes frames before a capture on its own interface would see them. tshark decodes the capture; counts come out of
the frames' sequence numbers. Its delay ends where the frame leaves the unit under test, vtax's one link later.

*iperf3* (`-u`) alternates with vtax's trials, {REPEATS} of each, 1% planted to be lost. Shorter frames are spared:
iperf3 waits without end for the first datagram, by which its ends meet.

*sockperf* and *ping* see round trips, {ROUND_TRIPS_PER_S:,} a second, and with them the end hosts: sockets, wake-ups,
the far end's answer. tcpdump captures these round trips at both ends' interfaces; request and answer are paired by
their number, and the time at the far end, and the near end's own beyond the capture, are told from the ways through
the path. The requests' way is held against the delay that vtax finds in that direction at the same rate, and the tools
run from either end for that: an answer finds the path warm and a guest awake, a request does not, nor do vtax's frames.
vtax's delay begins when a frame is due, before the source's system call; its frames are captured too where they leave,
and what lies before is taken off. It ends in XDP, just before the far capture. A request may take some µs longer:
frames out of a socket take more time than vtax's on every part of the way, and the more the longer the path rested,
which captures in between show but do not explain. While tools run, the latency of idle CPUs is held at 0, as vtax holds
it. All leave out their first {WARMUP_S} s. Left out of the requests' way are those of a tool that was late and caught
up, which find the path awake. {ROUNDS} rounds; vtax and the tools take turns at being first. Figures are medians of the
rounds' medians, least and greatest; what must lie within its bound is the interval of the median of the rounds'
differences, at {CONFIDENCE:.0%} or more (order statistics). Where it does not, vtax's rounds and the tool's are held
against themselves, each round against the one before: where that misses the same bound, no difference can be told on
such a machine, unless even the interval at {REFUTED:.1%} lies beyond: {CONFIDENCE:.0%} over the {COMPARED} ways.
"""


def run(directory: Path) -> Section:
    """Measure all platforms; a platform that could not be measured is a check that does not hold."""
    trials = Trials()
    checks: list[Check] = []
    with machine_held("validation agreement") as machine:
        for name in PLATFORMS:
            try:
                samples = on_platform(presets()[name], machine, trials, directory)
            except (*BUILD_FAILURES, NoTrial, ToolFailed) as failure:
                checks.append(Check(name, f"not measured: {failure}", "measured", holds=False))
                continue
            checks += platform_checks(name, samples)
    return Section("Agreement with other tools", TEXT, tuple(checks))
