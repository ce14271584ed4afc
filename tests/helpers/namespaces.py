"""What a network namespace holds, by netlink and by commands inside it."""

import re
import subprocess
from collections.abc import Iterable

from vtax.machine.namespace import Namespace

PORTS = ("ss", "--listening", "--tcp", "--udp", "--no-header")
"""What prints the ports of TCP and UDP that are open."""


def interfaces(namespace: Namespace) -> set[str]:
    """The names of a namespace's interfaces."""
    return namespace.netlink(lambda ip: {link.get_attr("IFLA_IFNAME") for link in ip.get_links()})


def told(namespace: Namespace, *command: str) -> str:
    done = subprocess.run(
        ["nsenter", f"--net={namespace.path}", "--", *command], check=True, capture_output=True, text=True
    )
    return done.stdout


def ports_of(pids: Iterable[int]) -> list[str]:
    """The ports that processes have open in the namespace of this one."""
    lines = subprocess.run([*PORTS, "--processes"], check=True, capture_output=True, text=True).stdout
    return [line for line in lines.splitlines() if {*map(int, re.findall(r"pid=(\d+)", line))} & {*pids}]
