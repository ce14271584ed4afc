"""Network namespaces, entered with setns from a thread of their own.

`ip netns exec` would remount /sys and hide cgroups and bpffs; setns in a short-lived thread changes nothing
for the rest of the process, and what the thread mounts goes away with it.
"""

import ctypes
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pyroute2 import IPRoute, netns

T = TypeVar("T")

CLONE_FS = 0x00000200
CLONE_NEWNS = 0x00020000
CLONE_NEWNET = 0x40000000
MS_REC = 0x4000
MS_PRIVATE = 1 << 18

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        errno = ctypes.get_errno()
        raise OSError(errno, f"{what}: {os.strerror(errno)}")


class Namespace:
    """One named network namespace; `create` and `remove` are explicit, nothing happens on import or deletion."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.path = Path("/run/netns") / name

    def create(self) -> None:
        """Create the namespace with IPv6 off and its loopback up, so that nothing in it chats."""
        netns.create(self.name)
        self.run(_silence)
        with self.netlink() as ip:
            ip.link("set", index=1, state="up")

    def remove(self) -> None:
        """Remove the name; the kernel frees the namespace with its last process."""
        if self.path.exists():
            netns.remove(self.name)

    def netlink(self) -> IPRoute:
        """An rtnetlink socket inside the namespace; close it after use."""
        return IPRoute(netns=str(self.path))

    def run(self, act: Callable[[], T], *, private_sysfs: bool = False) -> T:
        """Run `act` in a thread inside the namespace and return what it returns.

        With `private_sysfs`, /sys/class/net shows the namespace's own interfaces: sysfs shows those of the
        namespace that mounted it, so the thread mounts one of its own.
        """
        outcome: list[T] = []
        failure: list[BaseException] = []

        def inside() -> None:
            try:
                with self.path.open() as handle:
                    _check(_libc.setns(handle.fileno(), CLONE_NEWNET), f"entering namespace {self.name}")
                if private_sysfs:
                    _mount_own_sysfs()
                outcome.append(act())
            except BaseException as error:
                failure.append(error)

        thread = threading.Thread(target=inside, name=f"in {self.name}")
        thread.start()
        thread.join()
        if failure:
            raise failure[0]
        return outcome[0]


def _mount_own_sysfs() -> None:
    _check(_libc.unshare(CLONE_FS | CLONE_NEWNS), "unsharing the mount namespace")
    _check(_libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "making mounts private")
    _check(_libc.mount(b"sysfs", b"/sys", b"sysfs", 0, None), "mounting sysfs")


def _silence() -> None:
    for scope in ("all", "default"):
        switch = Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6")
        if switch.exists():
            switch.write_text("1")
