"""What the kernel tells of the threads that poll an interface (Documentation/netlink/specs/netdev.yaml)."""

from pyroute2 import IPRoute
from pyroute2.netlink import NLM_F_DUMP, NLM_F_REQUEST, genlmsg
from pyroute2.netlink.exceptions import NetlinkError
from pyroute2.netlink.generic import GenericNetlinkSocket

NAPI_GET = 11


class _Napi(genlmsg):  # type: ignore[misc]
    """A NAPI context of an interface."""

    nla_map = (
        ("NETDEV_A_NAPI_UNSPEC", "none"),
        ("NETDEV_A_NAPI_IFINDEX", "uint32"),
        ("NETDEV_A_NAPI_ID", "uint32"),
        ("NETDEV_A_NAPI_IRQ", "uint32"),
        ("NETDEV_A_NAPI_PID", "uint32"),
    )


def polling_threads(interface: str) -> set[int]:
    """Return the process ids of threads that poll an interface of this namespace; none are told before Linux 6.8."""
    with IPRoute() as routes, GenericNetlinkSocket() as netdev:
        (index,) = routes.link_lookup(ifname=interface)
        try:
            netdev.bind("netdev", _Napi)
        except NetlinkError:
            return set()
        request = _Napi()
        request.update(cmd=NAPI_GET, version=1, attrs=[("NETDEV_A_NAPI_IFINDEX", index)])
        flags = NLM_F_REQUEST | NLM_F_DUMP
        contexts = netdev.nlm_request(request, msg_type=netdev.prid, msg_flags=flags)
        told = (context.get_attr("NETDEV_A_NAPI_PID") for context in contexts)
        return {pid for pid in told if pid is not None}
