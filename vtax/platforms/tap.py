"""A tap interface made in a namespace and handed over as a file descriptor, so that its user needs no namespace."""

import fcntl
import os
import struct

from vtax.machine.namespace import Namespace

TUNSETIFF = 0x400454CA
IFF_TAP = 0x0002
IFF_NO_PI = 0x1000
IFF_VNET_HDR = 0x4000


def open_tap(namespace: Namespace, name: str, mtu: int) -> int:
    """Create tap `name` in `namespace`, up, with virtio-net headers; returns its descriptor (the caller closes it).

    The interface lives as long as a descriptor of it is open (Linux Documentation/networking/tuntap.rst).
    """

    def act() -> int:
        descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
        try:
            flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR
            fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    descriptor = namespace.run(act)
    namespace.bring_up(name, mtu=mtu)
    return descriptor
