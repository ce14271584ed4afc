"""Keys of VirtualBox's guests."""

from typing import Literal

from pydantic import Field

from vtax.platforms.contract import Fact
from vtax.platforms.egress_qdisc import GuestConfig

DRIVERS = {"virtio": "virtio_net", "82540EM": "e1000"}
"""The guest kernel's driver of a NIC model."""


class Config(GuestConfig):
    """Keys of VirtualBox's guests."""

    nic_model: Literal["virtio", "82540EM"] = Field("virtio", description="the NIC's type in VirtualBox")
    vcpus: int = Field(1, ge=1, le=16)
    memory_bytes: int = Field(256 << 20, ge=128 << 20, le=64 << 30)

    @property
    def pinned_vcpus(self) -> int:
        """All of the guest's."""
        return self.vcpus if self.pinned else 0

    @property
    def refused_switches(self) -> dict[str, str]:
        """VirtualBox bridges to an interface that it finds by its name."""
        return {"macvtap": "VirtualBox's NICs are bridged to an interface, and have no device of a macvtap"}

    @property
    def modules(self) -> tuple[str, ...]:
        """All modules that the guest's network needs."""
        return (DRIVERS[self.nic_model], *self.qdisc_modules)

    @property
    def facts(self) -> dict[str, Fact]:
        """What the probe states of the keys."""
        return {"nic_model": self.nic_model, **super().facts}
