"""A domain that runs: its keeper, its emulator, its taps, and how it ends."""

import os
import select
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vtax.machine.agent import Agent, AgentGone
from vtax.machine.namespace import Namespace, index_of
from vtax.machine.pidfd import await_end, process_start, stop_process
from vtax.platforms.console import last_words, tail
from vtax.platforms.contract import PlatformUnusable
from vtax.platforms.launch import DIES_WITH_US, launch
from vtax.platforms.libvirt.hypervisor import ANSWER_LIMIT_S, Hypervisor
from vtax.platforms.qemu import emulator_threads

END_LIMIT_S = 5.0
"""How long a daemon may take to end a domain whose connection is gone."""
NONE = (0, 0)


@dataclass
class LibvirtGuest:
    """A running domain; stdin and stdout of its keeper are its channel."""

    agent: Agent
    hello_s: float
    modules: Sequence[str]
    name: str
    console: Path
    logs: Sequence[Path]
    emulator: tuple[int, int] = NONE
    """Process id and start time while it runs."""

    def threads(self) -> dict[int, tuple[int, str]]:
        """Those of the emulator."""
        return emulator_threads(self.emulator[0]) if self.emulator[0] else {}

    def last_words(self) -> str:
        """The console's last lines, after what keeper and emulator complained about."""
        return "\n".join(filter(None, (*map(tail, self.logs), last_words(self.console))))

    def stop(self) -> None:
        """End the keeper, and so the domain; the emulator of a daemon that hangs is ended all the same."""
        keeper = self.agent.process.pid
        stop_process(keeper, process_start(keeper))
        await_end(*self.emulator, END_LIMIT_S)
        stop_process(*self.emulator)
        self.emulator = NONE
        self.agent.close()


def keep(
    name: str, hypervisor: Hypervisor, domain: Path, errors: Path, network: Namespace, scratch: Path
) -> tuple[Agent, int]:
    """Start a domain's keeper, whose agent is that of the guest; the descriptor is where its answer will be."""
    answer, told = os.pipe()
    seen = str(hypervisor.sees(domain, scratch))
    try:
        command = hypervisor.command("run", seen, str(told), network=network, scratch=scratch)
        return launch(name, [*DIES_WITH_US, *command], errors, [told]), answer
    except BaseException:
        os.close(answer)
        raise
    finally:
        os.close(told)


def await_start(hypervisor: Hypervisor, answer: int, errors: Path) -> None:
    """Wait for the keeper's answer; raises AgentGone where there is none in time, or libvirt refuses."""
    line = b""
    deadline = time.monotonic() + ANSWER_LIMIT_S
    while not line.endswith(b"\n"):
        if not select.select([answer], [], [], max(deadline - time.monotonic(), 0))[0]:
            raise AgentGone(
                f"libvirt at {hypervisor.uri} did not start the domain within {ANSWER_LIMIT_S:g} s; {hypervisor.fix}"
            )
        chunk = os.read(answer, 4096)
        if not chunk:
            break
        line += chunk
    try:
        hypervisor.answer(line.decode(errors="replace"), tail(errors))
    except PlatformUnusable as unusable:
        raise AgentGone(str(unusable)) from None


def emulator_of(name: str) -> tuple[int, int]:
    """Process id and start time of the emulator that libvirt gave a domain's name; raises AgentGone."""
    wanted = f"guest={name}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if any(word.split(b",")[0] == wanted for word in words):
            return int(process.name), process_start(int(process.name))
    raise AgentGone(f"{name}: its emulator ended as soon as it was started")


def take_tap(host: Namespace, tap: str, mtu: int) -> None:
    """Have a tap in the host's namespace and up: a daemon makes it where it lives itself."""
    here = host.netlink(lambda ip: ip.link_lookup(ifname=tap))
    if not here:
        own = Namespace("vtax's own", Path("/proc/self/ns/net"))
        own.netlink(lambda ip: ip.link("set", index=index_of(ip, tap), net_ns_fd=str(host.path)))
    host.bring_up(tap, mtu=mtu)
