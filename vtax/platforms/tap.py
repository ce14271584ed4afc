"""A tap interface made in a namespace and handed over as a file descriptor, so that its user needs no namespace."""

import contextlib
import fcntl
import os
import struct
from collections.abc import Iterator
from pathlib import Path

from vtax.machine.namespace import Namespace
from vtax.machine.remedy import load_module
from vtax.platforms.contract import GuestPlan, PlatformUnusable

DEVICE = Path("/dev/net/tun")
TUNSETIFF = 0x400454CA
IFF_TAP = 0x0002
IFF_NO_PI = 0x1000
IFF_VNET_HDR = 0x4000
IFF_MULTI_QUEUE = 0x0100


def require_tap() -> None:
    """Raise PlatformUnusable unless taps can be made."""
    if not DEVICE.exists():
        raise PlatformUnusable(f"no {DEVICE}", load_module("tun"))


@contextlib.contextmanager
def open_taps(plan: GuestPlan, *, headers: bool = True, queues: int = 1) -> Iterator[list[list[int]]]:
    """A tap at its port for each NIC of a guest, a descriptor a queue; closed again once somebody has copies."""
    taps: list[list[int]] = []
    try:
        for number, nic in enumerate(plan.nics):
            name = f"{plan.name}p{number}"
            taps.append(open_tap(plan.host, name, nic.mtu, headers=headers, queues=queues))
            nic.port.attach(name, nic.mac)
        yield taps
    finally:
        for descriptor in (descriptor for tap in taps for descriptor in tap):
            os.close(descriptor)


def open_tap(
    namespace: Namespace, name: str, mtu: int, *, headers: bool = True, queues: int = 1
) -> list[int]:
    """Create tap `name` in `namespace`, up; returns a descriptor for each queue (the caller closes them).

    With `headers`, every frame has a virtio-net header, which allows offloads to whoever asks for them.
    The interface lives as long as a descriptor of it is open (Linux Documentation/networking/tuntap.rst).
    """
    flags = IFF_TAP | IFF_NO_PI | (IFF_VNET_HDR if headers else 0) | (IFF_MULTI_QUEUE if queues > 1 else 0)
    descriptors: list[int] = []

    def act() -> None:
        for _ in range(queues):
            descriptors.append(os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC))
            fcntl.ioctl(descriptors[-1], TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))

    try:
        namespace.run(act)
        namespace.bring_up(name, mtu=mtu)
    except BaseException:
        for descriptor in descriptors:
            os.close(descriptor)
        raise
    return descriptors
