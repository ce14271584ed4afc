"""An emulated host in QEMU's words: a CPU with AMD's virtualization, a NIC for each tap, vtax behind a virtio port."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from vtax.machine.emulation import WORD
from vtax.machine.tsc import tsc_words
from vtax.platforms.emulator import INSTALLED, find_emulator
from vtax.platforms.kernel import KERNEL_WORDS, fetch_kernel
from vtax.testbed.emulated.image import build_host_image, unpack_hypervisor

Hypervisor = Literal["xen", "kvm"]
HYPERVISORS: tuple[Hypervisor, ...] = get_args(Hypervisor)
CPU = "qemu64,+svm,+npt"
"""A dom0 does not start on all that QEMU can emulate (`max`)."""
LOG = "/proc/self/fd/2"
"""Where the console goes, so that who started the machine has it."""
CONSOLE = f"loglevel=4 {KERNEL_WORDS} {WORD}"
PLAIN = f"console=ttyS0 tsc=reliable no_timer_check {CONSOLE}"
DOM0 = f"console=hvc0 {CONSOLE}"
"""Dom0 has a clock and timers of Xen's."""


class EmulatedKeys(BaseModel):
    """A machine that vtax emulates."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hypervisor: Hypervisor = Field(description="Xen with its dom0, or Linux with KVM")
    vcpus: int = Field(1, ge=1, le=8, description="CPUs; dom0 has as many, each on its own")
    memory_bytes: int = Field(3 << 30, ge=2 << 30, le=64 << 30, description="of which dom0 has half")


def command(keys: EmulatedKeys, taps: Sequence[int]) -> list[str]:
    """QEMU's command for a machine whose NICs are at the descriptors of `taps`, its `vtax host` at stdin and stdout.

    Fetches and builds what it takes; raises PlatformUnusable.
    """
    kernel, emulator = fetch_kernel(), find_emulator(INSTALLED)
    image = build_host_image(kernel)
    nics = [
        word
        for number, descriptor in enumerate(taps)
        for word in (
            *("-netdev", f"tap,id=n{number},fd={descriptor}"),
            *("-device", f"virtio-net-pci,netdev=n{number},romfile="),
        )
    ]
    return [
        *emulator.command,
        *("-name", "vtax-host,debug-threads=on"),
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-machine", "q35", "-accel", "tcg", "-cpu", CPU),
        *("-smp", str(keys.vcpus), "-m", str(keys.memory_bytes >> 20)),
        *_boot_words(keys, kernel.vmlinux, image),
        *("-chardev", f"file,id=console,path={LOG},append=on", "-serial", "chardev:console"),
        *("-device", "virtio-serial-pci", "-chardev", "stdio,id=vtax,signal=off"),
        *("-device", "virtserialport,chardev=vtax,name=vtax"),
        *nics,
    ]


def _boot_words(keys: EmulatedKeys, vmlinux: Path, image: Path) -> list[str]:
    if keys.hypervisor == "kvm":
        return ["-kernel", str(vmlinux), "-initrd", str(image), "-append", PLAIN + tsc_words()]
    dom0_megabytes = keys.memory_bytes >> 21
    xen = (
        f"console=com1 com1=115200,8n1 bootscrub=0 dom0_mem={dom0_megabytes}M,max:{dom0_megabytes}M "
        f"dom0_max_vcpus={keys.vcpus} dom0_vcpus_pin"
    )
    modules = f"{vmlinux} {DOM0},{image}"
    return ["-kernel", str(unpack_hypervisor()), "-initrd", modules, "-append", xen]
