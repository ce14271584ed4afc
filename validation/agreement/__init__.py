"""Agreement: one path, measured by vtax and by iperf3, sockperf, ping, and tshark on a capture of the same trial."""

import os
from pathlib import Path

from validation.agreement.checks import platform_checks
from validation.agreement.process import ToolFailed
from validation.agreement.samples import (
    FPS,
    FRAME_BYTES,
    REPEATS,
    ROUND_TRIPS_PER_S,
    on_platform,
)
from validation.agreement.trials import NoTrial, Trials
from validation.section import Check, Section
from vtax.platforms import presets
from vtax.testbed.host_session import hold_host
from vtax.testbed.layout import cpu_layout
from vtax.trial.failures import BUILD_FAILURES

PLATFORMS = ("raw", "container", "uml", "qemu-virtio")

TEXT = f"""
On each platform vtax brings a path up as a campaign does, and every tool uses it: the same namespaces, links and
guest. Frames are {FRAME_BYTES} bytes long, {FPS:,} a second.

*tshark*: while a trial runs, a BPF program where frames leave the unit under test loses 1% of them, sends 1% twice
and lets 1% be overtaken. tcpdump captures at the source and at that place, behind the program: the sink takes
frames before a capture on its own interface would see them. tshark decodes the capture; counts come out of the
frames' sequence numbers. Its delay ends where the frame leaves the unit under test, vtax's one link later.

*iperf3* (`-u`) alternates with vtax's trials, {REPEATS} of each, 1% planted to be lost.

*sockperf* and *ping* see round trips, {ROUND_TRIPS_PER_S:,} a second, and with them the end hosts: sockets, wake-ups,
the far end's answer. tcpdump captures these round trips at both ends' interfaces; request and answer are paired by
their number, and the time at the far end, and the near end's own beyond the capture, are told from the ways through
the path. Those are held against the delays that vtax finds there and back, one after the other, at the same rate.
vtax's begin before the source's system call, some 2 µs before that frame is captured, and end in XDP, just before the
far capture: a tool's way may be so much shorter. It may be some µs longer: frames out of a socket take more time than
vtax's on every part of the way, and the more the longer the path rested, which captures in between show but do not
explain. A guest with a kernel of its own is awake when the answer comes back to it, and asleep for vtax's frames in
either direction: there the way back lies between what forwarding takes at the least and vtax's. While tools run, the
latency of idle CPUs is held at 0, as vtax holds it. {REPEATS} repetitions alternate; figures are medians of their
medians, least and greatest.
"""


def run(directory: Path) -> Section:
    """Measure all platforms; a platform that could not be measured is a check that does not hold."""
    cpus = cpu_layout()
    affinity = os.sched_getaffinity(0)
    trials = Trials()
    checks: list[Check] = []
    with hold_host("validation agreement") as record:
        try:
            os.sched_setaffinity(0, cpus["controller"])
            for name in PLATFORMS:
                try:
                    samples = on_platform(presets()[name], cpus, record, trials, directory)
                except (*BUILD_FAILURES, NoTrial, ToolFailed) as failure:
                    checks.append(Check(name, f"not measured: {failure}", "measured", holds=False))
                    continue
                checks += platform_checks(name, samples)
        finally:
            os.sched_setaffinity(0, affinity)
    return Section("Agreement with other tools", TEXT, tuple(checks))
