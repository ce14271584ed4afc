"""Platform kind `virtualbox`: its commands are as the manual has them."""

import re

import pytest

from tests.helpers.virtualbox import machine
from vtax.platforms.virtualbox.commands import creation, removal, running, showing

NAME = r"[A-Za-z0-9-]+"
UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
PATH = r"/\S+"
NUMBER = "[0-9]+"
SWITCH = "on|off"
NIC = "[1-8]"
SYNTAX: dict[str, tuple[list[str], dict[str, list[str]]]] = {
    "createvm": (
        [],
        {
            **{"--name": [NAME], "--basefolder": [PATH], "--ostype": ["Linux_64"], "--uuid": [UUID]},
            **{"--register": [], "--platform-architecture": ["x86|arm"]},
        },
    ),
    "modifyvm": (
        [UUID],
        {
            **{"--cpus": [NUMBER], "--memory": [NUMBER], "--ioapic": [SWITCH], "--rtc-use-utc": [SWITCH]},
            **{"--firmware": ["bios|efi|efi32|efi64"], "--boot[1-4]": ["none|floppy|dvd|disk|net"]},
            **{"--audio-enabled": [SWITCH], "--vrde": [SWITCH]},
            **{"--uart[1-4]": ["0x[0-9A-F]+", NUMBER], "--uart-type[1-4]": ["16450|16550A|16750"]},
            "--uart-mode[1-4]": ["server|client|file", PATH],
            f"--nic{NIC}": ["none|null|nat|bridged|intnet|hostonly|generic|natnetwork"],
            f"--bridge-adapter{NIC}": [r"[A-Za-z0-9_.-]{1,15}"],
            f"--nic-type{NIC}": ["Am79C970A|Am79C973|82540EM|82543GC|82545EM|virtio"],
            f"--mac-address{NIC}": ["auto|[0-9A-F]{12}"],
            f"--cable-connected{NIC}": [SWITCH],
        },
    ),
    "storagectl": ([UUID], {"--name": [NAME], "--add": ["ide|sata|scsi|floppy|sas|usb|pcie"]}),
    "storageattach": (
        [UUID],
        {
            **{"--storagectl": [NAME], "--port": [NUMBER], "--device": [NUMBER]},
            **{"--type": ["dvddrive|hdd|fdd"], "--medium": [PATH]},
        },
    ),
    "unregistervm": ([UUID], {"--delete": []}),
    "showvminfo": ([UUID], {"--machinereadable": []}),
}
"""Of each subcommand: its operands, its options with theirs (VirtualBox User Manual 7.0 and 7.1, chapter 8)."""


def check_syntax(command: list[str]) -> None:
    """Whether each word of a command is where the manual allows it."""
    operands, options = SYNTAX[command[1]]
    words = iter(command[2:])
    for form in operands:
        assert re.fullmatch(form, next(words)), command
    for word in words:
        (expected,) = [forms for option, forms in options.items() if re.fullmatch(option, word)] or [None]
        assert expected is not None, f"{command[1]} has no {word}"
        for form in expected:
            assert re.fullmatch(form, value := next(words)), f"{command[1]} {word} {value}"


class TestCommands:
    @pytest.mark.parametrize("version", [(7, 0), (7, 1)])
    @pytest.mark.parametrize(("nic_model", "nics"), [("virtio", 2), ("82540EM", 8)])
    def test_each_word_is_in_the_manual(self, nic_model: str, nics: int, version: tuple[int, int]) -> None:
        made = machine(nic_model, nics)
        commands = creation(made, version)
        for command in [*commands, removal(made.uuid), showing(made.uuid)]:
            check_syntax(command)
        assert [command[1] for command in commands] == [
            *("createvm", "modifyvm", *["modifyvm"] * nics, "storagectl", "storageattach")
        ]
        assert ("--platform-architecture" in commands[0]) == (version >= (7, 1))
        assert running(made) == ["VBoxHeadless", "--startvm", made.uuid, "--vrde", "off"]

    def test_nics_have_their_address_and_their_interface(self) -> None:
        command = " ".join(creation(machine("virtio", 2), (7, 0))[3])
        assert "--nic2 bridged --bridge-adapter2 1a2b3cguestp1 --nic-type2 virtio" in command
        assert "--mac-address2 020000000001" in command

    def test_a_word_that_is_not_there_is_found(self) -> None:
        with pytest.raises(AssertionError, match="modifyvm has no --nictype1"):
            check_syntax(["VBoxManage", "modifyvm", machine("virtio", 1).uuid, "--nictype1", "virtio"])
