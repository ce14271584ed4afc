"""What this machine can measure, what it cannot, and why.

What can be tried out is: small links are built in namespaces of the doctor's own, and removed again.
"""

import contextlib
import math
import os
import re
import shlex
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyroute2.netlink.exceptions import NetlinkError

from vtax.inputs import InputError
from vtax.machine.agent import AgentError, AgentGone, agent_binary, start_agent
from vtax.machine.ingress import thread_ingress
from vtax.machine.lock import HostLock
from vtax.machine.namespace import Namespace, index_of
from vtax.machine.ownership import STATE_DIRECTORY, OwnershipRecord
from vtax.machine.remedy import AS_ROOT, build_agent, install, load_module
from vtax.platforms import PlatformUnusable, presets
from vtax.platforms.accelerator import has_device, memory_file, remembered_accelerators
from vtax.testbed.addressing import Station
from vtax.testbed.link import LinkEnd, make_link, shape, share
from vtax.testbed.ports import PORTS, BridgePort, Site

FAILURES = (OSError, NetlinkError, AgentError, AgentGone, subprocess.SubprocessError)
BURST_FRAMES = 600
"""More than a veth's ring holds (256), fewer than ring and queue (1000) together."""
SO_SNDBUFFORCE = 32
"""asm-generic/socket.h; unlike SO_SNDBUF it may pass the host's limit."""
SETTLE_S = 0.3
"""How long frames of a burst may take to arrive; what is lost is waited for in vain."""


@dataclass(frozen=True)
class Check:
    """One line of the doctor's table. The remedy is a command to paste; where none helps, the detail says what does."""

    group: str
    subject: str
    usable: bool
    detail: str
    remedy: str | None = None
    accelerator: str | None = None
    """Of a platform: `none`, `kvm`, `emulated`, or `not probed` until the first run has found out."""
    versions: dict[str, str] = field(default_factory=dict)
    """Of what a platform consists of here, as far as that is known without fetching it."""


def examine(state: Path = STATE_DIRECTORY) -> list[Check]:
    """Look at this machine; what it takes to try out links is written down under `state` and removed."""
    machine = [_agent(), _root(), _cpus(), _cpu_latency(), _btf(), *map(_tool, TOOL_PACKAGES)]
    switches = [_switch(name) for name in PORTS if name != "wire"]
    return machine + _links(state) + switches + [_platform(name) for name in presets()] + [_kvm()]


def _links(state: Path) -> list[Check]:
    """Try out what links and counting need, on a link of two namespaces that exists for that only."""
    if os.geteuid() != 0:
        return [Check("links", "all", False, "not tried: not root", AS_ROOT)]
    for need in (_tool("tc"), _tool("nsenter"), _agent()):
        if not need.usable:
            return [Check("links", "all", False, f"not tried: {need.subject} {need.detail}", need.remedy)]
    try:
        with _bench(state) as bench:
            return [_tried(bench, *probe) for probe in PROBES]
    except InputError as error:
        return [Check("links", "all", False, f"not tried: {error}")]
    except FAILURES as error:
        return [Check("links", "all", False, f"no veth pair: {error}", load_module("veth"))]


@dataclass(frozen=True)
class Bench:
    """A link between two namespaces, and the CPU that probes run on."""

    record: OwnershipRecord
    near: LinkEnd
    far: LinkEnd
    cpu: int


@contextlib.contextmanager
def _bench(state: Path) -> Iterator[Bench]:
    """Raises InputError while a campaign holds the host: a probe would cost it CPU time."""
    lock = HostLock(state)
    lock.acquire("vtax doctor")
    try:
        record = OwnershipRecord(f"vtax-{uuid.uuid4().hex[:6]}", state)
        record.open()
        try:
            near = LinkEnd(Namespace(f"{record.run}-near"), "doctor0", "02:00:00:00:00:01")
            far = LinkEnd(Namespace(f"{record.run}-far"), "doctor1", "02:00:00:00:00:02")
            for end in (near, far):
                record.add("namespace", name=end.namespace.name)
                end.namespace.create()
            make_link(near, far, mtu=1500)
            yield Bench(record, near, far, max(os.sched_getaffinity(0)))
        finally:
            record.clean()
    finally:
        lock.release()


def _tried(bench: Bench, subject: str, probe: Callable[[Bench], str], remedy: str) -> Check:
    try:
        return Check("links", subject, True, probe(bench))
    except FAILURES as error:
        return _unusable("links", subject, str(error), remedy)


def _unusable(group: str, subject: str, problem: str, remedy: str) -> Check:
    """What is not usable, with a command that helps, or with words where `remedy` is `needs ...`."""
    if remedy.startswith("needs "):
        return Check(group, subject, False, f"{problem}; {remedy}")
    return Check(group, subject, False, problem, remedy)


def _rate(bench: Bench) -> str:
    shape(bench.near, 1000, flow_control=True)
    return "1000 Mbit/s at layer 1 by a token bucket"


def _shared_uplink(bench: Bench) -> str:
    share(bench.near, 1000, flow_control=True, macs=[bench.near.mac, bench.far.mac], mtu=1500)
    return "senders take turns by a queue each"


def _ingress(bench: Bench) -> str:
    pid = thread_ingress(bench.far.namespace, bench.far.interface, [bench.cpu])
    if os.sched_getaffinity(pid) != {bench.cpu}:
        raise OSError("the NAPI thread cannot be pinned to a CPU")
    return "a pinned NAPI thread of its own polls it"


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

    before = _received(bench.far)
    try:
        bench.near.namespace.run(burst)
    except PermissionError:
        return _flow_control_by_version(os.uname().release)
    deadline = time.monotonic() + SETTLE_S
    while (received := _received(bench.far) - before) < BURST_FRAMES and time.monotonic() < deadline:
        time.sleep(0.01)
    if received < BURST_FRAMES:
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


def _received(end: LinkEnd) -> int:
    """Frames that an interface has received."""
    (link,) = end.namespace.netlink(lambda ip: list(ip.get_links(index_of(ip, end.interface))))
    return int(link.get_attr("IFLA_STATS64")["rx_packets"])


def _asked(bench: Bench, method: str, parameters: dict[str, object]) -> dict[str, Any]:
    """What an agent at the far end answers."""
    log = bench.record.scratch / "agent.log"
    agent = start_agent("doctor's agent", netns=bench.far.namespace.path, cpus=[bench.cpu], log=log)
    try:
        bench.record.add_process(agent.process.pid, "agent")
        agent.wait_hello(2.0)
        return dict(agent.call(method, parameters, 2.0))
    finally:
        agent.close()


def _drop_reasons(bench: Bench) -> str:
    namespace = bench.far.namespace.inode
    try:
        _asked(bench, "drops.open", {"namespaces": [namespace], "places": 1})
    except AgentError as error:
        raise OSError(f"not available: {str(error).splitlines()[0]}") from error
    return "the kernel says why it drops frames"


def _delay_stages(bench: Bench) -> str:
    try:
        told = _asked(bench, "stages.probe", {})
    except AgentError as error:
        raise OSError(f"not to be traced: {str(error).splitlines()[0]}") from error
    missing = [f"{hook['hook']}: {hook['missing']}" for hook in told["hooks"] if hook["missing"]]
    return "; ".join([f"packets are followed by {told['attach']}", *missing])


def _native_xdp(bench: Bench) -> str:
    streams = [{"stream": 0, "interface": bench.far.interface}]
    reply = _asked(bench, "sink.open", {"streams": streams, "attach": "auto"})
    attached = reply["streams"][0]["attached"]
    if attached != "xdp-native":
        reason = reply["streams"][0]["fallback"].splitlines()[0]
        raise OSError(f"frames are counted by {attached}, which costs more: {reason}")
    bound_ns = 100 * math.ceil(reply["cost_ns_per_frame"] / 100)
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
"""Subject, probe (returns the detail, raises one of FAILURES), remedy; the later ones need the ingress thread."""


def _switch(name: str) -> Check:
    """Whether guests' NICs can meet the host that way (`testbed.switch`)."""
    try:
        facts = PORTS[name].find()
    except PlatformUnusable as unusable:
        return _unusable("switches", name, unusable.reason, unusable.remedy)
    told = [PORTS[name].title, *(f"{fact} {value}" for fact, value in facts.items())]
    return Check("switches", name, True, ", ".join(told))


def _platform(name: str) -> Check:
    preset = presets()[name]
    platform, config = preset.platform(), preset.resolve({})
    try:
        platform.check(config)
        known = platform.known(config)
    except PlatformUnusable as unusable:
        return _unusable("platforms", name, unusable.reason, unusable.remedy)
    versions = {fact: str(version) for fact, version in known.facts.items()}
    return Check("platforms", name, True, preset.title, None, known.accelerator, versions)


def _kvm() -> Check:
    """Which CPU guests of emulators get: only a boot shows it, and runs remember it."""
    if not has_device():
        remedy = f"{load_module('kvm-intel')} || {load_module('kvm-amd')}"
        return Check("platforms", "KVM", False, "emulated CPU (no /dev/kvm to read and write)", remedy)
    shown = list(remembered_accelerators().values())[-1:]
    if not shown:
        return Check("platforms", "KVM", True, "not probed yet: the first run finds out")
    if shown == ["kvm"]:
        return Check("platforms", "KVM", True, "kvm")
    detail = "emulated CPU (KVM did not boot a guest); without this file the next run tries again"
    return Check("platforms", "KVM", False, detail, f"rm {shlex.quote(str(memory_file()))}")


def _agent() -> Check:
    try:
        path = agent_binary()
    except FileNotFoundError:
        return Check("machine", "agent", False, "not built", build_agent())
    return Check("machine", "agent", True, f"{path.stat().st_size / 1e6:.1f} MB static binary")


def _root() -> Check:
    is_root = os.geteuid() == 0
    detail = "root" if is_root else "namespaces, links and BPF programs need root"
    return Check("machine", "permissions", is_root, detail, None if is_root else AS_ROOT)


def _cpus() -> Check:
    count = len(os.sched_getaffinity(0))
    if count < 2:
        return Check("machine", "CPUs", False, f"{count}; needs two: source and UUT take one each")
    detail = (
        f"{count}" if count >= 3 else f"{count}: host and guest share one, results are labelled shared-core"
    )
    return Check("machine", "CPUs", True, detail)


def _cpu_latency() -> Check:
    if Path("/dev/cpu_dma_latency").exists():
        return Check("machine", "idle states", True, "idle states are held off during trials")
    detail = "they add delay: no /dev/cpu_dma_latency; needs a boot with idle=poll"
    return Check("machine", "idle states", False, detail)


def _btf() -> Check:
    if Path("/sys/kernel/btf/vmlinux").exists():
        return Check("machine", "kernel BTF", True, "present")
    detail = (
        "frames are counted, delay stages and drop reasons are not; needs a kernel with CONFIG_DEBUG_INFO_BTF"
    )
    return Check("machine", "kernel BTF", False, detail)


TOOL_PACKAGES = {
    "tc": "iproute2",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "taskset": "util-linux",
    "modprobe": "kmod",
}


def _tool(name: str, find: Callable[[str], str | None] = shutil.which) -> Check:
    path = find(name)
    return Check(
        "machine",
        name,
        path is not None,
        path or "not found",
        None if path else install(TOOL_PACKAGES[name]),
    )
