"""Whether links, the counting on them, and the CPUs behave as campaigns need: each is tried out."""

import contextlib
import math
import os
import re
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from pyroute2.netlink.exceptions import NetlinkError

from vtax.agent_api import DropsOpenParams, SinkOpenParams, StreamInterface
from vtax.doctor.bench import Bench, asked, open_bench, received
from vtax.doctor.check import Check, unusable
from vtax.doctor.machine import agent, tool
from vtax.doctor.steady import steady_cpus
from vtax.inputs import InputError
from vtax.machine.agent import AgentError, AgentGone
from vtax.machine.fix import AS_ROOT, load_module
from vtax.machine.ingress import thread_ingress
from vtax.testbed.addressing import Station
from vtax.testbed.link import shape, share
from vtax.testbed.ports import BridgePort, Site

FAILURES = (OSError, NetlinkError, AgentError, AgentGone, subprocess.SubprocessError)
BURST_FRAMES = 600
"""More than a veth's ring holds (256), fewer than ring and queue (1000) together."""
SO_SNDBUFFORCE = 32
"""asm-generic/socket.h; unlike SO_SNDBUF it may pass the host's limit."""
SETTLE_S = 0.3
"""How long frames of a burst may take to arrive; what is lost is waited for in vain."""
ANSWER_S = 2.0


def try_links(state: Path) -> list[Check]:
    """Try out what links and counting need, on a link of two namespaces that exists for that only."""
    if os.geteuid() != 0:
        return [Check("links", "all", False, "not tried: not root", AS_ROOT)]
    for need in (tool("tc"), tool("nsenter"), agent()):
        if not need.usable:
            return [Check("links", "all", False, f"not tried: {need.subject} {need.detail}", need.fix)]
    try:
        with open_bench(state) as bench:
            return [steady_cpus(bench), *(_tried(bench, *probe) for probe in PROBES)]
    except InputError as error:
        return [Check("links", "all", False, f"not tried: {error}")]
    except FAILURES as error:
        return [Check("links", "all", False, f"no veth pair: {error}", load_module("veth"))]


def _tried(bench: Bench, subject: str, probe: Callable[[Bench], str], fix: str) -> Check:
    try:
        return Check("links", subject, True, probe(bench))
    except FAILURES as error:
        return unusable("links", subject, str(error), fix)


def _rate(bench: Bench) -> str:
    shape(bench.near, 1000, flow_control=True)
    return "1000 Mbit/s at layer 1 by a token bucket"


def _shared_uplink(bench: Bench) -> str:
    share(bench.near, 1000, flow_control=True, macs=[bench.near.mac, bench.far.mac], mtu=1500)
    return "one queue per sender, served in turn"


def _ingress(bench: Bench) -> str:
    (pid,) = thread_ingress(bench.far.namespace, bench.far.interface, [bench.cpu])
    if os.sched_getaffinity(pid) != {bench.cpu}:
        raise OSError("the NAPI thread cannot be pinned to a CPU")
    return "polled by a pinned NAPI thread of its own"


def _bridge(bench: Bench) -> str:
    BridgePort(Site(bench.far, "doctor-port", [Station(bench.near.mac, "198.18.0.2")])).close()
    return "static forwarding entries, no learning, no flooding"


def _flow_control(bench: Bench) -> str:
    """Send a burst while the thread that would receive it gets no CPU: either the queue holds it, or it is lost."""
    threaded = Path(f"/sys/class/net/{bench.far.interface}/threaded")
    if bench.far.namespace.run(threaded.read_text, private_sysfs=True).strip() == "0":
        raise OSError("not tried: without an ingress thread the sender delivers by itself")
    shape(bench.near, None, flow_control=True)

    def burst() -> None:
        os.sched_setaffinity(0, [bench.cpu])
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        frame = bytes.fromhex((bench.far.mac + bench.near.mac).replace(":", "")) + b"\x88\xb5" + bytes(46)
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
            # With room for all: a sender that sleeps lets the receiver run.
            sender.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 4 << 20)
            sender.bind((bench.near.interface, 0))
            for _ in range(BURST_FRAMES):
                with contextlib.suppress(OSError):  # ENOBUFS: lost already
                    sender.send(frame)

    before = received(bench.far)
    try:
        bench.near.namespace.run(burst)
    except PermissionError:
        return _flow_control_by_version(os.uname().release)
    deadline = time.monotonic() + SETTLE_S
    while (arrived := received(bench.far) - before) < BURST_FRAMES and time.monotonic() < deadline:
        time.sleep(0.01)
    if arrived < BURST_FRAMES:
        raise OSError("a full link drops frames; it cannot hold its sender back")
    return "a full link holds its sender back"


def _flow_control_by_version(release: str) -> str:
    """Where a thread may not have a CPU to itself: veth holds its sender back since Linux 6.16."""
    numbers = [int(number) for number in re.findall(r"\d+", release)[:2]]
    if numbers < [6, 16]:
        raise OSError(
            f"not tried: no real-time priority; veth of Linux {release} drops what a full link gets"
        )
    return f"not tried: no real-time priority; veth of Linux {release} holds its sender back"


def _drop_reasons(bench: Bench) -> str:
    namespace = bench.far.namespace.inode
    try:
        asked(bench, lambda api: api.drops_open(DropsOpenParams(namespaces=[namespace], places=1), ANSWER_S))
    except AgentError as error:
        raise OSError(f"not available: {str(error).splitlines()[0]}") from error
    return "the kernel reports why it drops frames"


def _delay_stages(bench: Bench) -> str:
    try:
        found = asked(bench, lambda api: api.stages_probe(ANSWER_S))
    except AgentError as error:
        raise OSError(f"cannot be traced: {str(error).splitlines()[0]}") from error
    missing = [f"{hook.hook}: {hook.missing}" for hook in found.hooks if hook.missing]
    return "; ".join([f"packets are followed by {found.attach}", *missing])


def _native_xdp(bench: Bench) -> str:
    streams = [StreamInterface(stream=0, interface=bench.far.interface)]
    opened = asked(bench, lambda api: api.sink_open(SinkOpenParams(streams=streams, attach="auto"), ANSWER_S))
    (stream,) = opened.streams
    if stream.attached != "xdp-native":
        reason = (stream.fallback or "").partition("\n")[0]
        raise OSError(f"frames are counted by {stream.attached}, which costs more: {reason}")
    bound_ns = 100 * math.ceil(opened.cost.probe_ns / 100)
    return f"frames are counted by xdp-native in less than {bound_ns} ns each"


PROBES: tuple[tuple[str, Callable[[Bench], str], str], ...] = (
    ("rate", _rate, load_module("sch_tbf")),
    ("shared uplink", _shared_uplink, load_module("sch_htb")),
    ("ingress thread", _ingress, "needs Linux 5.12 or later"),
    ("bridge port", _bridge, load_module("bridge")),
    ("flow control", _flow_control, "needs Linux 6.16 or later, or scenarios without flow_control"),
    ("native XDP", _native_xdp, "needs Linux 5.10 or later with CONFIG_BPF_SYSCALL"),
    ("delay stages", _delay_stages, "needs Linux 5.17 or later with CONFIG_DEBUG_INFO_BTF, not locked down"),
    ("drop reasons", _drop_reasons, "needs Linux 5.17 or later with CONFIG_DEBUG_INFO_BTF, not locked down"),
)
"""Subject, probe (returns the detail, raises one of FAILURES), fix; the later ones need the ingress thread."""
