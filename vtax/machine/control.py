"""The control network of a machine: where the connection that serves it comes in."""

import os

from pyroute2 import IPRoute


def control_interface() -> str | None:
    """The interface with the address that SSH was reached at (SSH_CONNECTION, ssh(1)); None where there is none.

    A machine that is served without SSH has none, and one behind another that translates addresses is not told.
    """
    _client, _port, address, *_ = [*os.environ.get("SSH_CONNECTION", "").split(), "", "", ""]
    address, _, scope = address.partition("%")  # of a link-local address
    if scope or not address:
        return scope or None
    with IPRoute() as ip:
        indices = [each["index"] for each in ip.get_addr() if each.get_attr("IFA_ADDRESS") == address]
        return next((ip.get_links(index)[0].get_attr("IFLA_IFNAME") for index in indices), None)
