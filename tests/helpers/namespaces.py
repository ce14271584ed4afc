"""What a network namespace holds, by netlink and by commands inside it."""

import subprocess

from vtax.machine.namespace import Namespace


def interfaces(namespace: Namespace) -> set[str]:
    """The names of a namespace's interfaces."""
    return namespace.netlink(lambda ip: {link.get_attr("IFLA_IFNAME") for link in ip.get_links()})


def told(namespace: Namespace, *command: str) -> str:
    done = subprocess.run(
        ["nsenter", f"--net={namespace.path}", "--", *command], check=True, capture_output=True, text=True
    )
    return done.stdout
