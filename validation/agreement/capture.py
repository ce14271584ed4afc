"""A trial as tcpdump captured it and tshark reads it: counts, rate, delay, by nothing of vtax but its frames."""

import contextlib
import math
import os
import re
import signal
import statistics
import struct
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from validation.agreement.flow import Flow
from validation.agreement.process import TIMEOUT_S, ToolFailed, started
from vtax.machine.ownership import OwnershipRecord
from vtax.testbed.addressing import UDP_PORT
from vtax.testbed.host import Host
from vtax.units import mbps

SNAP_BYTES = 96
BUFFER_KIB = 32 * 1024
TEST_FRAMES = f"udp port {UDP_PORT}"
FIELDS = ("frame.time_epoch", "frame.len", "udp.payload")
HEADER = struct.Struct(">4sIBBIQ")
"""Magic, trial, phase, stream, sequence, departure: the test frame's own fields, behind UDP."""
CLOCK_BITS, LATE_BITS, MANTISSA_BITS = 48, 16, 11
"""Of the departure: the source's clock in ns, without its first bits; its lateness, whose last bits follow a shift."""
MAGIC = b"vtax"
COUNTS = re.compile(
    r"(\d+) packets captured, (\d+) packets received by filter, (\d+) packets dropped by kernel"
)
"""As tcpdump tells them when it is asked by SIGUSR1."""
MEASURE, PROBE = 3, 0x80


@dataclass(frozen=True)
class Frame:
    """A test frame in a capture. `at_ns` is the time of day, `departed_ns` the source's clock without its first bits.

    `late_ns` is how long it was due before it departed.
    """

    at_ns: int
    frame_bytes: int
    trial: int
    phase: int
    is_probe: bool
    sequence: int
    departed_ns: int
    late_ns: int

    def since_due_ns(self, clock_offset_ns: int) -> int:
        """How long it was due when it was captured, given the time of day less the source's clock."""
        around, half = 1 << CLOCK_BITS, 1 << CLOCK_BITS - 1
        # By the clocks a frame may leave after it was captured.
        since_ns = (self.at_ns - clock_offset_ns - self.departed_ns + half) % around - half
        return since_ns + self.late_ns


@contextlib.contextmanager
def captured(
    host: Host, record: OwnershipRecord, cpu: int, interface: str, file: Path, what: str = TEST_FRAMES
) -> Iterator[None]:
    """Capture frames at an interface while the block lasts, every one of them; raises ToolFailed."""
    log = file.with_suffix(".log")
    options = [
        *("--time-stamp-precision=nano", f"--snapshot-length={SNAP_BYTES}", f"--buffer-size={BUFFER_KIB}"),
        *("-n", "-Z", "root", "-i", interface, "-w", str(file)),
    ]
    command = ["tcpdump", *options, what]
    with started(host, record, cpu, "listening on", log, *command) as process:
        yield
        _await_the_last(process, log)


def _await_the_last(process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Until tcpdump, asked for its counts, has written all that the kernel has for it, and missed nothing."""
    told: list[tuple[str, str, str]] = []
    for _ in range(100):
        os.kill(process.pid, signal.SIGUSR1)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.1)
        told = COUNTS.findall(log.read_text())
        if told and told[-1][0] == told[-1][1]:
            break
    if not told or told[-1][0] != told[-1][1] or told[-1][2] != "0":
        raise ToolFailed(f"tcpdump missed frames: {log.read_text()}")


def decoded(file: Path, *fields: str) -> list[list[str]]:
    """Fields of each frame of a capture, in its order, as tshark decodes them."""
    asked = [word for field in fields for word in ("-e", field)]
    command = ["tshark", "-r", str(file), "-n", "-T", "fields", *asked]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode != 0:
        raise ToolFailed(f"{' '.join(command)}: {done.stderr.strip()}")
    return [line.split("\t") for line in done.stdout.splitlines()]


def at_ns(epoch: str) -> int:
    """tshark's time of day, in whole nanoseconds."""
    seconds, _, fraction = epoch.partition(".")
    return int(seconds) * 10**9 + int(fraction.ljust(9, "0"))


def frames(file: Path) -> list[Frame]:
    """The test frames of a capture."""
    return parse(decoded(file, *FIELDS))


def parse(lines: Sequence[list[str]]) -> list[Frame]:
    """Test frames out of tshark's fields."""
    found = []
    for epoch, length, payload in lines:
        magic, trial, phase, _, sequence, departure = HEADER.unpack_from(bytes.fromhex(payload))
        if magic != MAGIC:
            raise ToolFailed(f"no test frame on the way: {payload}")
        is_probe = bool(phase & PROBE)
        departed_ns, late = divmod(departure, 2**LATE_BITS)
        at = at_ns(epoch), int(length)
        found.append(Frame(*at, trial, phase & ~PROBE, is_probe, sequence, departed_ns, lateness_ns(late)))
    return found


def lateness_ns(told: int) -> int:
    """Return the nanoseconds of a lateness as frames tell it: a floating-point number without sign."""
    shift = told >> MANTISSA_BITS
    return told if shift == 0 else (told - ((shift - 1) << MANTISSA_BITS)) << (shift - 1)


def before_capture_ns(departures: Sequence[Frame], trial: int, clock_offset_ns: int) -> float:
    """How long a trial's measured frames took from when they were due to their capture where they leave: the median."""
    left = _measured(departures, trial)
    if not left:
        raise ToolFailed(f"no frame of trial {trial} was captured where it left")
    return statistics.median(frame.since_due_ns(clock_offset_ns) for frame in left)


def seen(departures: Sequence[Frame], arrivals: Sequence[Frame], trial: int, clock_offset_ns: int) -> Flow:
    """A trial's measured phase out of what passed at the source and where frames leave the UUT; delay up to there."""
    left, came = _measured(departures, trial), _measured(arrivals, trial)
    first: dict[int, Frame] = {}
    duplicated = reordered = highest = 0
    for frame in came:
        if frame.sequence in first:
            duplicated += 1
            continue
        first[frame.sequence] = frame
        reordered += frame.sequence < highest
        highest = max(highest, frame.sequence)
    sent = {frame.sequence for frame in left}
    span_s = (max(frame.at_ns for frame in came) - came[0].at_ns) / 1e9
    delays = [
        first[frame.sequence].since_due_ns(clock_offset_ns) if frame.sequence in first else math.inf
        for frame in left
        if frame.is_probe
    ]
    return Flow(
        sent=len(sent),
        received=len(first),
        lost=len(sent - first.keys()),
        duplicated=duplicated,
        reordered=reordered,
        received_mbps=mbps((len(first) - 1) / span_s, came[0].frame_bytes),
        delay_p50_ns=statistics.median_low(delays),
    )


def _measured(frames: Sequence[Frame], trial: int) -> list[Frame]:
    """Those of a trial's measured phase."""
    return [frame for frame in frames if (frame.trial, frame.phase) == (trial, MEASURE)]
