"""vhost-user: a process beside the emulator moves a guest's frames, DPDK's testpmd, in memory that both have.

Each NIC is a socket of its, joined to one end of a veth pair whose other end is at the NIC's port. testpmd polls: it
takes all of a CPU that nobody else wants.
"""

import contextlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from vtax.machine.agent import AgentGone
from vtax.machine.cpu import threads_of
from vtax.machine.fix import install
from vtax.machine.offloads import send_whole
from vtax.machine.pidfd import process_start, stop_process
from vtax.machine.state import make_directory
from vtax.machine.user_namespace import IdRange
from vtax.platforms.console import tail
from vtax.platforms.contract import GuestPlan, PlatformUnusable
from vtax.platforms.launch import DIES_WITH_US
from vtax.platforms.package import check_tools
from vtax.platforms.unprivileged import OVER_NETWORK, as_user
from vtax.platforms.veth import add_veth, remove_veth

TESTPMD = "dpdk-testpmd"
TOOLS = {TESTPMD: "dpdk-dev", "nsenter": "util-linux"}
READY_TIMEOUT_S = 15.0
POLL_INTERVAL_S = 0.01
FRAMES = 8192
"""Buffers of frames; two rings of 1024 of each of 8 streams' NICs do not use them up."""


def check_switch() -> None:
    """Raise PlatformUnusable unless testpmd is installed."""
    check_tools(TOOLS)


@cache
def dpdk_version() -> str:
    """What testpmd says that it is of; raises PlatformUnusable when it says nothing."""
    alone = ("--no-huge", "-m", "64", "--no-pci", "--no-shconf", "--no-telemetry", "-l", "0")
    try:
        done = subprocess.run(
            [TESTPMD, "-v", "--help", *alone], check=False, capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise PlatformUnusable(f"{TESTPMD}: {error}", install("dpdk-dev")) from error
    told = re.search(r"RTE Version: '(.+)'", done.stdout + done.stderr)
    if told is None:
        raise PlatformUnusable(f"{TESTPMD} tells no version: {done.stderr[-200:]!r}", install("dpdk-dev"))
    return told[1]


@dataclass
class UserSwitch:
    """A running testpmd. Its port 2n is NIC n's interface, 2n + 1 its socket."""

    process: "subprocess.Popen[bytes]"
    directory: Path
    log: Path
    undo: contextlib.ExitStack
    """What takes down all that starting it has made, newest first."""

    def socket(self, number: int) -> Path:
        """Where an emulator gets NIC `number`."""
        return self.directory / f"nic{number}"

    def threads(self) -> dict[int, tuple[int, str]]:
        """All of its threads, as `switch`."""
        return dict.fromkeys(threads_of(self.process.pid), (self.process.pid, "switch"))

    def last_words(self) -> str:
        """What it has said, unless it runs well."""
        return tail(self.log) if self.process.poll() else ""

    def stop(self) -> None:
        """End it, and delete the veth pairs."""
        self.undo.close()


def start_switch(plan: GuestPlan, queues: int, *, confined: bool = True) -> UserSwitch:
    """Make a veth pair for each NIC and have testpmd serve them; raises AgentGone when it does not.

    It is a user of its own where guests are `confined`, else root.
    Raises PlatformUnusable where the port takes no interface, but has NICs made on top of its own.
    """
    if any(nic.port.lower is not None for nic in plan.nics):
        raise PlatformUnusable(
            "a switch that NICs are made on top of has no place for testpmd's veth pairs",
            "needs testbed.switch=bridge, routed or ovs with vhost-user",
        )
    directory = plan.scratch / f"{plan.name}.dpdk"
    shutil.rmtree(directory, ignore_errors=True)  # with sockets of a switch that was killed
    make_directory(directory)  # the emulator's user goes through it to its socket
    user = IdRange.of(f"{plan.record.run}-{plan.name} switch").first if confined else None
    if user is not None:
        os.chown(directory, user, user)
    with contextlib.ExitStack() as undo:
        for number, nic in enumerate(plan.nics):
            outside, inside = f"{plan.name}p{number}", _inside(plan, number)
            # Another MAC than the guest's: the host's kernel is to leave alone what testpmd takes.
            add_veth(plan.host, outside, plan.host, inside, replace(nic, mac=f"06{nic.mac[2:]}"))
            undo.callback(remove_veth, plan.host, outside)
            plan.host.bring_up(inside)
            for end in (outside, inside):
                send_whole(plan.host, end)
            nic.port.attach(outside, nic.mac)
        log = plan.scratch / f"{plan.name}.dpdk.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                _command(plan, queues, user),
                cwd=directory,  # its user may not pass the directories above
                stdin=subprocess.PIPE,  # its end would end it
                stdout=output,
                stderr=output,
                process_group=0,
                env={"PATH": os.environ["PATH"], "RUNTIME_DIRECTORY": "."},
            )
        undo.callback(_end, process, process_start(process.pid))
        plan.record.add_process(process.pid, f"{plan.name} switch")
        switch = UserSwitch(process, directory, log, undo)
        _await_sockets(switch, len(plan.nics))
        switch.undo = undo.pop_all()
        return switch


def _await_sockets(switch: UserSwitch, nics: int) -> None:
    """Wait until an emulator can have all NICs."""
    deadline = time.monotonic() + READY_TIMEOUT_S
    while not all(switch.socket(number).exists() for number in range(nics)):
        if switch.process.poll() is not None:
            raise AgentGone(f"{TESTPMD} exited {switch.process.returncode}: {tail(switch.log)}")
        if time.monotonic() > deadline:
            raise AgentGone(f"{TESTPMD} has no sockets after {READY_TIMEOUT_S:g} s: {tail(switch.log)}")
        time.sleep(POLL_INTERVAL_S)


def _end(process: "subprocess.Popen[bytes]", started: int) -> None:
    stop_process(process.pid, started)
    process.communicate()


def _inside(plan: GuestPlan, number: int) -> str:
    """The end of a veth pair that testpmd has."""
    return f"{plan.name}v{number}"


def _command(plan: GuestPlan, queues: int, user: int | None) -> list[str]:
    """testpmd with its files where it is started; what comes from a port leaves by the other one of its pair."""
    return [
        *DIES_WITH_US,
        *("nsenter", f"--net={plan.host.path}", "--"),
        *(() if user is None else as_user(user, kept=OVER_NETWORK)),
        *(TESTPMD, "--lcores", f"(0,1)@({','.join(map(str, plan.cpus))})"),
        *("--no-huge", "-m", "128", "--no-pci", f"--file-prefix={plan.name}", "--log-level=5"),
        *_devices(plan, queues),
        "--",
        *("--forward-mode=io", "--auto-start", "--disable-link-check", "--nb-cores=1", "--no-mlockall"),
        *(f"--total-num-mbufs={FRAMES}", f"--rxq={queues}", f"--txq={queues}"),
    ]


def _devices(plan: GuestPlan, queues: int) -> Iterator[str]:
    for number in range(len(plan.nics)):
        yield f"--vdev=net_af_packet{number},iface={_inside(plan, number)},qpairs={queues}"
        yield f"--vdev=net_vhost{number},iface=nic{number},queues={queues}"
