"""VirtualBox's command line, as argument lists (VirtualBox User Manual 7.0 and 7.1, chapter 8 "VBoxManage").

VBoxManage makes and removes a machine, VBoxHeadless runs it in the foreground (section 7.1.2 there).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MANAGE = "VBoxManage"
HEADLESS = "VBoxHeadless"
FIRST_SERIAL, SECOND_SERIAL = ("0x3F8", "4"), ("0x2F8", "3")
"""Base address and interrupt of a PC's COM1 and COM2."""
NICS = 8
"""All that its default chipset has."""
NAMES_ARCHITECTURES = (7, 1)
"""The first version that has to be told the guest's architecture."""
STORAGE = "disc"


@dataclass(frozen=True)
class BridgedNic:
    """A NIC of a machine: its address, and the interface of this machine that it is bridged to."""

    mac: str
    interface: str


@dataclass(frozen=True)
class Machine:
    """What VirtualBox is told of a guest."""

    name: str
    uuid: str
    directory: Path
    disc: Path
    line: Path
    """The socket of its first serial line: a host pipe, whose server VirtualBox is."""
    console: Path
    nics: Sequence[BridgedNic]
    nic_model: str
    vcpus: int
    memory_bytes: int


def creation(machine: Machine, version: tuple[int, int]) -> list[list[str]]:
    """The commands that make a machine, in their order."""
    architecture = ("--platform-architecture", "x86") if version >= NAMES_ARCHITECTURES else ()
    return [
        [
            *(
                MANAGE,
                "createvm",
                "--name",
                machine.name,
                *architecture,
                "--basefolder",
                str(machine.directory),
            ),
            *("--ostype", "Linux_64", "--register", "--uuid", machine.uuid),
        ],
        [MANAGE, "modifyvm", machine.uuid, *_hardware(machine)],
        *([MANAGE, "modifyvm", machine.uuid, *_nic(machine, at)] for at in range(1, len(machine.nics) + 1)),
        [MANAGE, "storagectl", machine.uuid, "--name", STORAGE, "--add", "ide"],
        [
            *(MANAGE, "storageattach", machine.uuid, "--storagectl", STORAGE, "--port", "0", "--device", "0"),
            *("--type", "dvddrive", "--medium", str(machine.disc)),
        ],
    ]


def running(machine: Machine) -> list[str]:
    """The command that runs it, in the foreground, and listens nowhere."""
    return [HEADLESS, "--startvm", machine.uuid, "--vrde", "off"]


def removal(uuid: str) -> list[str]:
    """The command that removes a machine that does not run."""
    return [MANAGE, "unregistervm", uuid, "--delete"]


def showing(uuid: str) -> list[str]:
    """The command that fails where there is no such machine."""
    return [MANAGE, "showvminfo", uuid, "--machinereadable"]


def _hardware(machine: Machine) -> list[str]:
    return [
        *("--cpus", str(machine.vcpus), "--memory", str(machine.memory_bytes >> 20), "--ioapic", "on"),
        *("--firmware", "bios", "--boot1", "dvd", "--boot2", "none", "--boot3", "none", "--boot4", "none"),
        *("--audio-enabled", "off", "--vrde", "off", "--rtc-use-utc", "on"),
        *("--uart1", *FIRST_SERIAL, "--uart-type1", "16550A", "--uart-mode1", "server", str(machine.line)),
        *("--uart2", *SECOND_SERIAL, "--uart-type2", "16550A", "--uart-mode2", "file", str(machine.console)),
    ]


def _nic(machine: Machine, at: int) -> list[str]:
    nic = machine.nics[at - 1]
    return [
        *(f"--nic{at}", "bridged", f"--bridge-adapter{at}", nic.interface),
        *(f"--nic-type{at}", machine.nic_model, f"--mac-address{at}", nic.mac.replace(":", "").upper()),
        *(f"--cable-connected{at}", "on"),
    ]
