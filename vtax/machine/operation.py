"""Links in operation (RFC 2863): before the kernel has seen one up, it drops frames there and gives no IPv6 address."""

import time

from pyroute2 import IPRoute

UP_S = 10.0
"""Longer than the kernel puts off what it does for a link that came up (1 s), and than NICs take to agree on a rate."""
LOOK_S = 0.001


def is_operational(ip: IPRoute, index: int) -> bool:
    """Whether a link's end is in operation, as far as its driver tells.

    Before Linux 6.8 its state may be that of up to a second ago, which the carrier is not.
    """
    (link,) = ip.get_links(index)
    return bool(link.get_attr("IFLA_OPERSTATE") == "UP" and link.get_attr("IFLA_CARRIER"))


def becomes_operational(ip: IPRoute, index: int, limit_s: float = UP_S) -> bool:
    """Wait until a link's end that was brought up is in operation; False where it is not in time."""
    deadline = time.monotonic() + limit_s
    while not is_operational(ip, index):
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_S)
    return True
