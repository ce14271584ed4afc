"""Network namespaces, entered with setns from a thread of their own.

`ip netns exec` would remount /sys and hide cgroups and bpffs; setns in a short-lived thread changes nothing
for the rest of the process, and what the thread mounts goes away with it. Libraries that fork to switch namespaces
are avoided: a child of a process with threads and clean-up handlers is a second owner of everything.
"""

import ctypes
import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pyroute2 import IPRoute

from vtax.machine.bridge_netfilter import set_bridge_netfilter
from vtax.machine.ownership import Name, Owned

T = TypeVar("T")

NAMED = Path("/run/netns")
"""Where `ip netns` looks for namespaces by name."""

CLONE_FS = 0x00000200
CLONE_NEWNS = 0x00020000
CLONE_NEWNET = 0x40000000
MS_BIND = 0x1000
MS_REC = 0x4000
MNT_DETACH = 2
MS_PRIVATE = 1 << 18
MS_SHARED = 1 << 20

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


class Namespace:
    """One network namespace; `create` and `remove` are explicit, nothing happens on import or deletion.

    It is found by its name, or by another `path` where somebody else made it, as `/proc/PID/ns/net`.
    """

    def __init__(self, name: str, path: Path | None = None) -> None:
        self.name = name
        self.path = NAMED / name if path is None else path

    @property
    def inode(self) -> int:
        """What the kernel tells namespaces apart by; raises OSError where there is none."""
        return self.path.stat().st_ino

    def create(self, bridge_netfilter: bool = False, made: Path | None = None) -> None:
        """Create the namespace with IPv6 off and its loopback up, so that nothing in it chats.

        Its bridges pass frames to netfilter where `bridge_netfilter` is set, and not by the kernel's default. Where it
        was `made` already, as /proc/PID/ns/net, it is only named.
        """
        NAMED.mkdir(mode=0o755, parents=True, exist_ok=True)
        _share_names()
        self.path.touch(exist_ok=False)
        if made is None:
            _in_thread(f"creating {self.name}", self._unshare)
        else:
            self._mount(made)
        self.run(_silence)
        self.run(lambda: set_bridge_netfilter(bridge_netfilter))
        self.netlink(lambda ip: ip.link("set", index=1, state="up"))

    def remove(self) -> None:
        """Remove the name; the kernel frees the namespace with its last process."""
        if self.path.exists():
            unmount(self.path)  # not mounted where creation broke off
            self.path.unlink()

    def netlink(self, act: Callable[[IPRoute], T]) -> T:
        """Run `act` with an rtnetlink socket inside the namespace, and return what it returns."""

        def with_socket() -> T:
            with IPRoute() as ip:
                return act(ip)

        return self.run(with_socket)

    def bring_up(self, interface: str, **settings: int) -> None:
        """Set an interface of the namespace up, with further link settings (mtu, master) if given."""
        self.netlink(lambda ip: ip.link("set", index=index_of(ip, interface), state="up", **settings))

    def run(self, act: Callable[[], T], *, private_sysfs: bool = False) -> T:
        """Run `act` in a thread inside the namespace and return what it returns.

        With `private_sysfs`, /sys/class/net shows the namespace's own interfaces: sysfs shows those of the
        namespace that mounted it, so the thread mounts one of its own.
        """

        def inside() -> T:
            with self.path.open() as handle:
                _check(_libc.setns(handle.fileno(), CLONE_NEWNET), f"entering namespace {self.name}")
            if private_sysfs:
                _mount_own_sysfs()
            return act()

        return _in_thread(f"in {self.name}", inside)

    def _unshare(self) -> None:
        _check(_libc.unshare(CLONE_NEWNET), "unsharing the network namespace")
        self._mount(Path("/proc/thread-self/ns/net"))

    def _mount(self, made: Path) -> None:
        _check(
            _libc.mount(bytes(made), bytes(self.path), None, MS_BIND, None), f"naming namespace {self.name}"
        )


class OwnedNamespace(Owned, frozen=True, tag="namespace"):
    """A namespace in a record of what a run owns."""

    name: Name

    @property
    def place(self) -> Path:
        """See Owned."""
        return Namespace(self.name).path

    def is_there(self) -> bool:
        """See Owned."""
        return Namespace(self.name).path.exists()

    def remove(self) -> None:
        """See Owned."""
        Namespace(self.name).remove()


def unmount(path: Path) -> None:
    """Take away what is mounted at a path, if anything is."""
    _libc.umount2(bytes(path), MNT_DETACH)


def _share_names() -> None:
    """Make the directory of names a mount of its own, shared, as `ip netns add` does when it is first called.

    Called after us it would hide the names that are there already beneath that mount.
    """
    name = bytes(NAMED)
    if _libc.mount(b"", name, b"none", MS_SHARED | MS_REC, None) == 0:
        return
    if ctypes.get_errno() != errno.EINVAL:
        _check(-1, f"sharing {NAMED}")
    _check(_libc.mount(name, name, b"none", MS_BIND | MS_REC, None), f"making {NAMED} a mount")
    _check(_libc.mount(b"", name, b"none", MS_SHARED | MS_REC, None), f"sharing {NAMED}")


def index_of(ip: IPRoute, interface: str) -> int:
    """The index of an interface by name; raises OSError when there is none."""
    found = ip.link_lookup(ifname=interface)
    if not found:
        raise OSError(f"no interface {interface}")
    return int(found[0])


def _in_thread(name: str, act: Callable[[], T]) -> T:
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(act())
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=run, name=name)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


def _mount_own_sysfs() -> None:
    _check(_libc.unshare(CLONE_FS | CLONE_NEWNS), "unsharing the mount namespace")
    _check(_libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "making mounts private")
    if _libc.mount(b"sysfs", b"/sys", b"sysfs", 0, None) != 0 and ctypes.get_errno() != errno.EBUSY:
        _check(-1, "mounting sysfs")  # it is busy where the namespace's own is mounted there already


def mount_scratch() -> Path:
    """An empty directory that may hold devices, for a thread that has a sysfs of its own: it goes with the thread."""
    path = Path("/mnt")
    _check(_libc.mount(b"none", bytes(path), b"tmpfs", 0, None), f"mounting over {path}")
    return path


def _silence() -> None:
    for scope in ("all", "default"):
        switch = Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6")
        if switch.exists():
            switch.write_text("1")
