"""Sources of frames at full rate: vtax's agent, and the peers as their documentation has them at their best."""

import contextlib
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from bench.ground import SOURCE_INTERFACE, STREAM, Ground
from validation.agreement.process import started, within
from vtax.agent_api import Ceiling, Mechanism
from vtax.keys.frames import FrameSpec
from vtax.machine.offloads import CHECKSUMS, PIECES
from vtax.testbed.addressing import UDP_PORT
from vtax.units import HEADER_BYTES

SEND_S = 1.0
START_S = {"testpmd": 0.5, "trafgen": 0.1}
"""What a peer takes to start, added to its time."""
LAST_WORDS = 600
IPERF3_PORT = 5201

Flood = Callable[[Ground, int], str]
"""Sends frames of a length for about SEND_S and returns the sender's last words."""


@dataclass(frozen=True)
class Sender:
    """A source by name; `family` is the tool, of which the best is compared."""

    family: str
    name: str
    flood: Flood


def vtax(mechanism: Mechanism, *, checksums: bool = True) -> Sender:
    """vtax's agent with one of its mechanisms.

    Without `checksums`, UDP's is left to whoever receives the frame, as a veth does it by default. The agent refuses
    trains on such an interface: it is made one when the agent has looked.
    """

    def flood(ground: Ground, frame_bytes: int) -> str:
        params = FrameSpec(frame_bytes).run(1, mechanism, {"measure": SEND_S}, intended_fps=None, probe_fps=1)
        with (
            ground.sending() as source,
            contextlib.nullcontext() if checksums else ground.offloading(CHECKSUMS),
        ):
            return str(source.source_run(params))

    return Sender("vtax", f"vtax {mechanism}{'' if checksums else ' without checksums'}", flood)


def trafgen_command(ground: Ground, frame_bytes: int, *, ring: bool = True) -> list[str]:
    """One process with a memory-mapped ring past the qdisc, trafgen's default, or with a send a frame.

    The packet is in trafgen's own language.
    """
    payload_bytes = frame_bytes - HEADER_BYTES
    packet = (
        f"{{ eth(da={ground.next_mac}, sa={STREAM.source_mac}), "
        f"ipv4(da={ground.far_ip}, sa={STREAM.source_ip}, ttl=64), "
        f"udp(sp={UDP_PORT}, dp={UDP_PORT}), fill(0, {payload_bytes}) }}"
    )
    options = ["--cpus", "1", "--no-sock-mem", "--no-cpu-stats"]
    way = [] if ring else ["--gap", "0", "--qdisc-path"]
    return ["trafgen", "--dev", SOURCE_INTERFACE, *options, *way, packet]


def testpmd_command(ground: Ground, frame_bytes: int, device: str) -> list[str]:
    """Transmit-only forwarding on one core, in bursts of 64; the main thread sleeps on the same core."""
    cores = ["--lcores", f"0@{ground.cpu},1@{ground.cpu}"]
    memory = ["--no-huge", "-m", "512", "--no-pci", "--no-telemetry", "--no-shconf"]
    packets = [f"--txpkts={frame_bytes}", "--burst=64", "--txd=2048", "--total-num-mbufs=16384"]
    addresses = [
        f"--eth-peer=0,{ground.next_mac}",
        f"--tx-ip={STREAM.source_ip},{ground.far_ip}",
        f"--tx-udp={UDP_PORT},{UDP_PORT}",
    ]
    how = ["--forward-mode=txonly", "--stats-period=1", *packets, *addresses]
    return ["dpdk-testpmd", *cores, *memory, "--vdev", f"{device}", "--", *how]


def iperf3_command(ground: Ground, frame_bytes: int) -> list[str]:
    """UDP without a limit of rate, the payload that makes the frame's length."""
    load = ["-u", "-b", "0", "-l", str(frame_bytes - HEADER_BYTES), "-t", f"{SEND_S:.0f}"]
    return ["iperf3", "-c", ground.far_ip, "-p", str(IPERF3_PORT), *load]


def _iperf3(ground: Ground, frame_bytes: int) -> str:
    server = ["iperf3", "-s", "-1", "--forceflush", "-B", ground.far_ip, "-p", str(IPERF3_PORT)]
    log = ground.directory / "iperf3.log"
    with started(ground.far, ground.record, ground.far_cpu, "Server listening", log, *server):
        return _words(ground, iperf3_command(ground, frame_bytes))


def _timed(family: str, command: Callable[[Ground, int], list[str]]) -> Flood:
    def flood(ground: Ground, frame_bytes: int) -> str:
        end = ["timeout", "--signal=INT", "--kill-after=5", f"{SEND_S + START_S[family]:g}"]
        return _words(ground, [*end, *command(ground, frame_bytes)])

    return flood


def _words(ground: Ground, command: list[str]) -> str:
    """Run to the end and return the last words; whether frames came is what tells of success."""
    full = within(ground.source, ground.cpu, command)
    # trafgen's frames are in pieces, and would have to be copied.
    with ground.offloading(PIECES):
        done = subprocess.run(
            full,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=30,
        )
    return (done.stdout + done.stderr).strip()[-LAST_WORDS:]


AF_XDP, AF_PACKET = (
    f"net_af_xdp0,iface={SOURCE_INTERFACE}",
    f"net_af_packet0,iface={SOURCE_INTERFACE},qdisc_bypass=1",
)
TRAFGEN = Sender("trafgen", "trafgen", _timed("trafgen", trafgen_command))
TRAFGEN_SENDS = Sender(
    "trafgen",
    "trafgen --gap 0",
    _timed("trafgen", lambda ground, frame_bytes: trafgen_command(ground, frame_bytes, ring=False)),
)
IPERF3 = Sender("iperf3", "iperf3 -u", _iperf3)
TESTPMD_XDP = Sender(
    "testpmd",
    "testpmd net_af_xdp",
    _timed("testpmd", lambda ground, frame_bytes: testpmd_command(ground, frame_bytes, AF_XDP)),
)
TESTPMD_PACKET = Sender(
    "testpmd",
    "testpmd net_af_packet",
    _timed("testpmd", lambda ground, frame_bytes: testpmd_command(ground, frame_bytes, AF_PACKET)),
)
TESTPMD = (TESTPMD_XDP, TESTPMD_PACKET)


def peers(*, own_context: bool) -> tuple[Sender, ...]:
    """Everybody else. With its ring, trafgen ends at the first frame that a full far end does not take."""
    return (*(() if own_context else (TRAFGEN,)), TRAFGEN_SENDS, IPERF3, *TESTPMD)


def fastest(ground: Ground, frame_bytes: int) -> Mechanism:
    """The mechanism that vtax chooses for a flood itself: the fastest of its calibration."""
    return ceilings(ground, frame_bytes)[0].mechanism


def ceilings(ground: Ground, frame_bytes: int) -> list[Ceiling]:
    """What each of vtax's mechanisms floods, the fastest first."""
    with ground.sending() as source:
        return source.source_calibrate(FrameSpec(frame_bytes).calibrate("flood"), timeout_s=60.0).ceilings


def commands(ground: Ground, frame_bytes: int) -> list[str]:
    """What the peers were started with, as a shell takes it."""
    lines = [
        trafgen_command(ground, frame_bytes),
        trafgen_command(ground, frame_bytes, ring=False),
        iperf3_command(ground, frame_bytes),
        testpmd_command(ground, frame_bytes, AF_XDP),
        testpmd_command(ground, frame_bytes, AF_PACKET),
    ]
    return [" ".join(f"'{word}'" if " " in word else word for word in line) for line in lines]
