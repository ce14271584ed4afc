"""A QEMU guest in the words of its command line: the machine, its console and control port, its NICs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vtax.machine.tsc import tsc_words
from vtax.platforms.contract import GuestNic
from vtax.platforms.emulator import Emulator
from vtax.platforms.kernel import KERNEL_WORDS, Kernel
from vtax.platforms.own_kernel import OwnKernel
from vtax.platforms.qemu_config import VIRTIO, Config

CONSOLE = f"console=ttyS0 loglevel=4 tsc=reliable no_timer_check {KERNEL_WORDS}"
"""A kernel's own check of its timer fails where the host is busy."""
CPUS = {"kvm": ("-accel", "kvm", "-cpu", "host"), "emulated": ("-accel", "tcg", "-cpu", "max")}
BUS = {"q35": "pci", "microvm": "device"}
"""The last part of a virtio device's name."""


@dataclass(frozen=True)
class TapEnd:
    """A tap by descriptors, one a queue, and as many of /dev/vhost-net where that serves it."""

    queues: Sequence[int]
    vhost: Sequence[int] = ()

    @property
    def descriptors(self) -> list[int]:
        """All that an emulator is to have copies of."""
        return [*self.queues, *self.vhost]


@dataclass(frozen=True)
class SocketEnd:
    """A vhost-user switch's socket, by a descriptor of its directory: those above it may be root's alone.

    A connection's own descriptor would be of no use: QEMU passes no memory over one (7.2, chardev/char-socket.c).
    """

    directory: int
    name: str

    @property
    def descriptors(self) -> list[int]:
        """What an emulator is to have a copy of."""
        return [self.directory]


NicEnd = TapEnd | SocketEnd
"""What a NIC is connected with."""
OFFLOADS = (
    *("csum", "guest_csum", "gso", "mrg_rxbuf"),
    *(f"{side}_{kind}" for side in ("host", "guest") for kind in ("tso4", "tso6", "ecn", "ufo")),
)
"""What virtio-net offers its driver (Virtual I/O Device 1.2, section 5.1.3), as QEMU's properties."""


def machine_words(
    emulator: Emulator,
    kernel: Kernel | OwnKernel,
    image: Path,
    accelerator: str,
    console: Path | None,
    config: Config,
) -> list[str]:
    """All but the NICs; the agent's port is at stdin and stdout."""
    bus = BUS[config.machine]
    megabytes = config.memory_bytes >> 20
    shared = config.backend == "vhost-user"
    memory = f"memory-backend-memfd,id=memory,size={megabytes}M,share=on"
    return [
        *emulator.command,
        *("-name", "vtax,debug-threads=on"),
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-machine", config.machine + (",memory-backend=memory" if shared else "")),
        *CPUS[accelerator],
        *("-smp", str(config.vcpus), "-m", str(megabytes)),
        *(("-object", memory) if shared else ()),
        *("-kernel", str(kernel.vmlinux), "-initrd", str(image)),
        *("-append", kernel_words(emulated=accelerator == "emulated")),
        *("-serial", "null" if console is None else f"file:{console}"),
        *("-device", f"virtio-serial-{bus}", "-chardev", "stdio,id=agent,signal=off"),
        *("-device", "virtserialport,chardev=agent,name=vtax"),
    ]


def kernel_words(*, emulated: bool) -> str:
    """Return the kernel's command line."""
    return CONSOLE + (tsc_words() if emulated else "")


def nic_words(config: Config, number: int, nic: GuestNic, end: NicEnd) -> list[str]:
    """A NIC and its back end."""
    if isinstance(end, SocketEnd):
        wired = ["-chardev", f"socket,id=c{number},path=/proc/self/fd/{end.directory}/{end.name}"]
        netdev = f"vhost-user,id=n{number},chardev=c{number},queues={config.queues}"
    else:
        wired = []
        vhost = f"on,vhostfds={_list(end.vhost)}" if end.vhost else "off"
        netdev = f"tap,id=n{number},fds={_list(end.queues)},vhost={vhost}"
    return [*wired, "-netdev", netdev, "-device", _device(config, number, nic)]


def _list(descriptors: Sequence[int]) -> str:
    return ":".join(map(str, descriptors))


def _device(config: Config, number: int, nic: GuestNic) -> str:
    of_nic = f"netdev=n{number},mac={nic.mac}"
    if config.nic_model != VIRTIO:
        return f"{config.nic_model},{of_nic},romfile="
    words = [
        f"virtio-net-{BUS[config.machine]}",
        of_nic,
        f"rx_queue_size={config.rx_queue_size}",
        f"tx_queue_size={config.tx_queue_size}",
    ]
    if config.machine == "q35":
        words.append("romfile=")
    if config.queues > 1:
        words.append("mq=on")
        # An interrupt for each queue, one for the control queue, and one for changes (PCI's alone).
        words += [f"vectors={2 * config.queues + 2}"] if config.machine == "q35" else []
    if config.offloads == "none":
        words += [f"{offload}=off" for offload in OFFLOADS]
    return ",".join(words)
