"""A tap or macvtap made in a namespace and handed over as a file descriptor, so that its user needs no namespace."""

import fcntl
import os
import stat
import struct
from pathlib import Path

from vtax.machine.namespace import Namespace, index_of, mount_scratch
from vtax.machine.remedy import load_module
from vtax.platforms.contract import GuestNic, PlatformUnusable

DEVICE = Path("/dev/net/tun")
TUNSETIFF = 0x400454CA
IFF_TAP = 0x0002
IFF_NO_PI = 0x1000
IFF_VNET_HDR = 0x4000


def require_tap() -> None:
    """Raise PlatformUnusable unless taps can be made."""
    if not DEVICE.exists():
        raise PlatformUnusable(f"no {DEVICE}", load_module("tun"))


def open_nic(namespace: Namespace, name: str, nic: GuestNic, *, headers: bool = True) -> int:
    """Open interface `name` for an emulator's NIC as its port wants it, and attach it; returns its descriptor.

    `headers` as of open_tap; without where the port takes frames only that are complete.
    """
    headers = headers and nic.port.offloads
    if nic.port.lower is None:
        descriptor = open_tap(namespace, name, nic.mtu, headers=headers)
    else:
        descriptor = _open_macvtap(namespace, name, nic, nic.port.lower, headers=headers)
    try:
        nic.port.attach(name, nic.mac)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def open_tap(namespace: Namespace, name: str, mtu: int, *, headers: bool = True) -> int:
    """Create tap `name` in `namespace`, up; returns its descriptor (the caller closes it).

    With `headers`, every frame has a virtio-net header, which allows offloads to whoever asks for them.
    The interface lives as long as a descriptor of it is open (Linux Documentation/networking/tuntap.rst).
    """

    def act() -> int:
        descriptor = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
        try:
            _set_up(descriptor, name, headers)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    descriptor = namespace.run(act)
    namespace.bring_up(name, mtu=mtu)
    return descriptor


def _open_macvtap(namespace: Namespace, name: str, nic: GuestNic, lower: str, *, headers: bool) -> int:
    """Create macvtap `name` on top of `lower`, up, with the guest's MAC; returns the descriptor of its device.

    The device has a number and no place in /dev that is sure to be there: the node is in a directory that only the
    thread sees which opens it. Unlike a tap it stays when it is closed: its port removes it.
    """
    settings = {"address": nic.mac, "mtu": nic.mtu, "macvtap_mode": "bridge"}

    def act() -> int:
        (number,) = Path(f"/sys/class/net/{name}/macvtap").glob("tap*/dev")
        major, minor = map(int, number.read_text().split(":"))
        node = mount_scratch() / name
        os.mknod(node, stat.S_IFCHR | 0o600, os.makedev(major, minor))
        descriptor = os.open(node, os.O_RDWR | os.O_CLOEXEC)
        try:
            _set_up(descriptor, name, headers)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    namespace.netlink(
        lambda ip: ip.link("add", ifname=name, kind="macvtap", link=index_of(ip, lower), **settings)
    )
    namespace.bring_up(name)
    return namespace.run(act, private_sysfs=True)


def _set_up(descriptor: int, name: str, headers: bool) -> None:
    flags = IFF_TAP | IFF_NO_PI | (IFF_VNET_HDR if headers else 0)
    fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
