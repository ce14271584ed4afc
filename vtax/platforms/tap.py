"""A tap or macvtap made in a namespace and handed over as a file descriptor, so that its user needs no namespace."""

import contextlib
import fcntl
import os
import stat
import struct
from collections.abc import Iterator
from pathlib import Path

from vtax.machine.fix import load_module
from vtax.machine.namespace import Namespace, index_of, mount_scratch
from vtax.platforms.contract import GuestNic, GuestPlan, PlatformUnusable

DEVICE = Path("/dev/net/tun")
TUNSETIFF = 0x400454CA
IFF_TAP = 0x0002
IFF_NO_PI = 0x1000
IFF_NAPI = 0x0010
IFF_VNET_HDR = 0x4000
IFF_MULTI_QUEUE = 0x0100


def require_tap() -> None:
    """Raise PlatformUnusable unless taps can be made."""
    if not DEVICE.exists():
        raise PlatformUnusable(f"no {DEVICE}", load_module("tun"))


@contextlib.contextmanager
def open_taps(plan: GuestPlan, *, headers: bool = True, queues: int = 1) -> Iterator[list[list[int]]]:
    """A tap at its port for each NIC of a guest, a descriptor a queue; closed again once somebody has copies.

    A macvtap where NICs are made on top of the port; without `headers` where it takes no frames but complete ones.
    """
    taps: list[list[int]] = []
    try:
        for number, nic in enumerate(plan.nics):
            name = f"{plan.name}p{number}"
            whole = headers and nic.port.offloads
            if (lower := nic.port.lower) is None:
                taps.append(open_tap(plan.host, name, nic.mtu, headers=whole, queues=queues))
            else:
                taps.append(_open_macvtap(plan.host, name, lower, nic, headers=whole, queues=queues))
            nic.port.attach(name, nic.mac)
        yield taps
    finally:
        _close([descriptor for tap in taps for descriptor in tap])


def open_tap(
    namespace: Namespace,
    name: str,
    mtu: int,
    *,
    headers: bool = True,
    queues: int = 1,
    polled: bool = False,
) -> list[int]:
    """Create tap `name` in `namespace`, up; returns a descriptor for each queue (the caller closes them).

    With `headers`, every frame has a virtio-net header, which allows offloads to whoever asks for them. What comes
    from the descriptor is `polled` as a NIC's queue is, so that a thread of the kernel can do it.
    The interface lives as long as a descriptor of it is open (Linux Documentation/networking/tuntap.rst).
    """
    descriptors = namespace.run(lambda: _open_queues(DEVICE, name, headers, queues, polled))
    try:
        namespace.bring_up(name, mtu=mtu)
    except BaseException:
        _close(descriptors)
        raise
    return descriptors


def _open_macvtap(
    namespace: Namespace, name: str, lower: str, nic: GuestNic, *, headers: bool, queues: int
) -> list[int]:
    """Create macvtap `name` on top of `lower`, up, with the guest's MAC; returns a descriptor for each queue.

    Its device has a number, and no place in /dev that is sure to be there: the node is in a directory that only the
    thread sees which opens it. Unlike a tap it stays when it is closed: its port removes it.
    """
    settings = {"address": nic.mac, "mtu": nic.mtu, "macvtap_mode": "bridge"}
    namespace.netlink(
        lambda ip: ip.link("add", ifname=name, kind="macvtap", link=index_of(ip, lower), **settings)
    )
    namespace.bring_up(name)

    def act() -> list[int]:
        (number,) = Path(f"/sys/class/net/{name}/macvtap").glob("tap*/dev")
        major, minor = map(int, number.read_text().split(":"))
        node = mount_scratch() / name
        os.mknod(node, stat.S_IFCHR | 0o600, os.makedev(major, minor))
        return _open_queues(node, name, headers, queues)

    return namespace.run(act, private_sysfs=True)


def _open_queues(device: Path, name: str, headers: bool, queues: int, polled: bool = False) -> list[int]:
    """Open a device once for each queue of interface `name`."""
    flags = IFF_TAP | IFF_NO_PI | (IFF_VNET_HDR if headers else 0) | (IFF_MULTI_QUEUE if queues > 1 else 0)
    flags |= IFF_NAPI if polled else 0
    descriptors: list[int] = []
    try:
        for _ in range(queues):
            descriptors.append(os.open(device, os.O_RDWR | os.O_CLOEXEC))
            fcntl.ioctl(descriptors[-1], TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
    except BaseException:
        _close(descriptors)
        raise
    return descriptors


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
