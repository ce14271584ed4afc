"""Keys of QEMU guests, and which of them go together."""

from collections.abc import Iterator
from typing import Annotated, Final, Literal

from pydantic import Field

from vtax.inputs.own_file import OwnFile
from vtax.platforms.confinement import ConfinedConfig
from vtax.platforms.contract import Fact, PlatformUnusable
from vtax.platforms.own_kernel import OwnInitrdConfig
from vtax.platforms.program import OwnProgramConfig
from vtax.stages.hooks import NicKind

VIRTIO = "virtio-net-pci"
DRIVERS = {VIRTIO: "virtio_net", "rtl8139": "8139cp"}
"""The guest kernel's driver of a NIC model, where the two names differ."""
LEAST_RING: Final = 256
"""What QEMU gives a virtio ring by itself, and the most that its own back ends take to send from."""


class Config(OwnInitrdConfig, OwnProgramConfig, ConfinedConfig):
    """Keys of QEMU guests."""

    nic_model: Literal["virtio-net-pci", "vmxnet3", "e1000", "e1000e", "rtl8139"] = Field(
        "virtio-net-pci", description="the NIC's name in QEMU; of a microvm, virtio-net without PCI"
    )
    backend: Literal["tap", "vhost", "vhost-user"] = Field(
        "tap",
        description="who moves a NIC's frames: QEMU at a tap, the host's kernel (vhost-net), or DPDK's testpmd",
    )
    machine: Literal["q35", "microvm"] = Field(
        "q35", description="the machine's kind in QEMU; a microvm has no PCI, its devices are virtio-mmio"
    )
    queues: int = Field(1, ge=1, le=16, description="pairs of queues of a NIC, at most a virtual CPU each")
    offloads: Literal["all", "none"] = Field(
        "all", description="checksums, segmentation and merged buffers that a NIC offers its guest"
    )
    rx_queue_size: Literal[256, 512, 1024] = Field(LEAST_RING, description="frames in a ring to the guest")
    tx_queue_size: Literal[256, 512, 1024] = Field(LEAST_RING, description="frames in a ring from the guest")
    version: Literal["installed", "backports"] = Field(
        "installed", description="the installed QEMU, or that of Debian's backports, fetched into the cache"
    )
    kernel: Annotated[
        str, OwnFile("booted in guests", words=("distribution", "backports"), states="guest_kernel")
    ] = Field(
        "distribution",
        description="the guest's: Debian's, that of its backports, fetched into the cache, or one of your own",
    )
    vcpus: int = Field(1, ge=1, le=16)
    memory_bytes: int = Field(256 << 20, ge=128 << 20, le=64 << 30)
    accelerator: Literal["auto", "kvm", "emulated"] = Field(
        "auto", description="auto boots a guest under KVM to find out"
    )

    @property
    def shared_files(self) -> frozenset[str]:
        """A confined emulator is started by a user of its own, who reads what it boots."""
        return super().shared_files | ({"binary", "kernel"} if self.confined else set())

    @property
    def pinned_vcpus(self) -> int:
        """All of the guest's."""
        return self.vcpus if self.pinned else 0

    @property
    def nic(self) -> NicKind:
        """What the back end reads and writes."""
        kinds: dict[str, NicKind] = {"tap": "tap", "vhost": "vhost", "vhost-user": "veth"}
        return kinds[self.backend]

    @property
    def refused_switches(self) -> dict[str, str]:
        """The switch in user space has one end of a veth pair."""
        if self.backend != "vhost-user":
            return {}
        return {"macvtap": "backend vhost-user has a switch of its own between the guest and the host's port"}

    @property
    def driver(self) -> str:
        """The module that drives the NICs in the guest."""
        return DRIVERS.get(self.nic_model, self.nic_model)

    @property
    def modules(self) -> tuple[str, ...]:
        """All modules that the guest's network needs."""
        return (self.driver, *self.qdisc_modules)

    @property
    def facts(self) -> dict[str, Fact]:
        """What the probe states of the keys."""
        rings = ("queues", "offloads", "rx_queue_size", "tx_queue_size")
        virtio = {key: getattr(self, key) for key in rings} if self.nic_model == VIRTIO else {}
        return {
            "nic_model": self.nic_model,
            "backend": self.backend,
            "machine": self.machine,
            **virtio,
            **super().facts,
        }

    def check_combination(self) -> None:
        """Raise PlatformUnusable for keys that do not go together."""
        for asked, needed in self._conflicts():
            raise PlatformUnusable(asked, f"needs {needed}")

    def _conflicts(self) -> Iterator[tuple[str, str]]:
        """What is asked for, and what that needs and is not."""
        defaults = type(self).model_fields
        for key in ("backend", "machine", "queues", "offloads", "rx_queue_size", "tx_queue_size"):
            if self.nic_model != VIRTIO and (value := getattr(self, key)) != defaults[key].default:
                yield f"{self.nic_model} has no {key}={value}: only virtio has", f"nic_model={VIRTIO}"
        if self.queues > self.vcpus:
            yield (
                f"queues={self.queues} are more than the vcpus={self.vcpus} that could serve them",
                f"vcpus={self.queues}",
            )
        if self.tx_queue_size > LEAST_RING and self.backend != "vhost-user":
            yield (
                f"QEMU makes {LEAST_RING} of tx_queue_size={self.tx_queue_size} where backend={self.backend}",
                f"tx_queue_size={LEAST_RING}, or backend=vhost-user",
            )
        if self.backend == "vhost-user" and self.version == "installed" and self.binary is None:
            yield "the installed QEMU's vhost-user fails beneath testpmd", "version=backports"
        if self.backend == "vhost-user" and self.offloads != "none":
            yield "testpmd passes frames on as they are and completes none", "offloads=none with vhost-user"
