"""Offloads of interfaces, by ethtool's long names: what a sender leaves to whoever is behind it."""

from pyroute2.ethtool import Ethtool

from vtax.machine.namespace import Namespace

SEGMENTATION = (
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
    "tx-tcp-ecn-segmentation",
    "tx-tcp-mangleid-segmentation",
    "tx-udp-segmentation",
    "tx-generic-segmentation",
)
"""All of TCP's have to be off: a veth that can do any of them delivers in the sender's context (veth_xmit)."""
CHECKSUMS = "tx-checksum-ip-generic"
"""Left on, a veth hands frames on without their checksum, for whoever receives them to complete."""
PIECES = "tx-scatter-gather"
"""Left on, a train is cut into frames of several pieces, which takes a tenth longer."""


def set_offload(namespace: Namespace, interface: str, feature: str, enabled: bool) -> None:
    """Switch one feature by ethtool's long name (e.g. `rx-gro`), leaving those alone that are as wanted or fixed."""

    def act() -> None:
        with Ethtool() as ethtool:
            features = ethtool.get_features(interface)
            known = features.features
            if feature not in known or not known[feature].available or known[feature].enable == enabled:
                return
            known[feature].enable = enabled
            ethtool.set_features(interface, features)

    namespace.run(act)


def send_whole(namespace: Namespace, interface: str) -> None:
    """Have every frame leave an interface as itself, in one piece and with its checksum, as a wire would bring it."""
    for feature in (*SEGMENTATION, CHECKSUMS, PIECES):
        set_offload(namespace, interface, feature, False)
