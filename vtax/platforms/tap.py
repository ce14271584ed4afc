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


def require_tap() -> None:
    """Raise PlatformUnusable unless taps can be made."""
    if not DEVICE.exists():
        raise PlatformUnusable(f"no {DEVICE}", load_module("tun"))


@contextlib.contextmanager
def open_taps(plan: GuestPlan, *, headers: bool = True) -> Iterator[list[int]]:
    """A tap at its port for each NIC of a guest; the descriptors are closed again once somebody has copies."""
    taps: list[int] = []
    try:
        for number, nic in enumerate(plan.nics):
            name = f"{plan.name}p{number}"
            taps.append(open_tap(plan.host, name, nic.mtu, headers=headers))
            nic.port.attach(name, nic.mac)
        yield taps
    finally:
        for tap in taps:
            os.close(tap)


def open_tap(namespace: Namespace, name: str, mtu: int, *, headers: bool = True) -> int:
    """Create tap `name` in `namespace`, up; returns its descriptor (the caller closes it).

    With `headers`, every frame has a virtio-net header, which allows offloads to whoever asks for them.
    The interface lives as long as a descriptor of it is open (Linux Documentation/networking/tuntap.rst).
    """

    def act() -> int:
        descriptor = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
        try:
            flags = IFF_TAP | IFF_NO_PI | (IFF_VNET_HDR if headers else 0)
            fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    descriptor = namespace.run(act)
    namespace.bring_up(name, mtu=mtu)
    return descriptor
