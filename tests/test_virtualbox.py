"""Platform kind `virtualbox`: its commands are as the manual has them, and a failed start leaves nothing.

VirtualBox itself was never run: what stands for it here are commands that note how they were called.
"""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.namespaces import interfaces
from vtax.machine.agent import AgentGone
from vtax.machine.lent import OWN
from vtax.platforms import GuestPlan, PlatformUnusable, virtualbox
from vtax.platforms.virtualbox import kind
from vtax.platforms.virtualbox.bridging import bridge_nics
from vtax.platforms.virtualbox.commands import BridgedNic, Machine, creation, removal, running

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


def machine(nic_model: str, nics: int) -> Machine:
    return Machine(
        name="vtax-1a2b3c-guest",
        uuid="0f0e0d0c-1111-4222-8333-444455556666",
        directory=Path("/run/vtax/run/guest.virtualbox"),
        disc=Path("/var/cache/vtax/disc/0123.iso"),
        line=Path("/run/vtax/run/guest.virtualbox/line"),
        console=Path("/run/vtax/run/guest.virtualbox/console"),
        nics=[BridgedNic(f"02:00:00:00:00:0{at}", f"1a2b3cguestp{at}") for at in range(nics)],
        nic_model=nic_model,
        vcpus=2,
        memory_bytes=256 << 20,
    )


class TestCommands:
    @pytest.mark.parametrize("version", [(7, 0), (7, 1)])
    @pytest.mark.parametrize(("nic_model", "nics"), [("virtio", 2), ("82540EM", 8)])
    def test_each_word_is_in_the_manual(self, nic_model: str, nics: int, version: tuple[int, int]) -> None:
        made = machine(nic_model, nics)
        commands = creation(made, version)
        remove, present = removal("/usr/bin/VBoxManage", made.uuid)
        for command in [*commands, present]:
            check_syntax(command)
        assert [command[1] for command in commands] == [
            *("createvm", "modifyvm", *["modifyvm"] * nics, "storagectl", "storageattach")
        ]
        assert ("--platform-architecture" in commands[0]) == (version >= (7, 1))
        assert remove[-2:] == ["/usr/bin/VBoxManage", made.uuid]
        assert running(made) == ["VBoxHeadless", "--startvm", made.uuid, "--vrde", "off"]

    def test_nics_have_their_address_and_their_interface(self) -> None:
        command = " ".join(creation(machine("virtio", 2), (7, 0))[3])
        assert "--nic2 bridged --bridge-adapter2 1a2b3cguestp1 --nic-type2 virtio" in command
        assert "--mac-address2 020000000001" in command

    def test_a_word_that_is_not_there_is_found(self) -> None:
        with pytest.raises(AssertionError, match="modifyvm has no --nictype1"):
            check_syntax(["VBoxManage", "modifyvm", machine("virtio", 1).uuid, "--nictype1", "virtio"])


MANAGE = """#!/bin/sh
echo "$@" >>"$0.calls"
case $1 in
--version) echo "WARNING: a line before it"; echo ${VTAX_TEST_VERSION:-7.0.20r163906} ;;
createvm) touch "$0.made" ;;
storageattach) [ -z "$VTAX_TEST_REFUSES" ] || { echo "VBoxManage: error: no such medium" >&2; exit 1; } ;;
unregistervm) rm "$0.made" ;;
showvminfo) test -e "$0.made" ;;
esac
"""
HEADLESS = """#!/bin/sh
echo "VBoxHeadless: error: the VMMR0 module is not there" >&2
exit 1
"""


@pytest.fixture
def manage(commands: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What VBoxManage has been told is in the file with `.calls` behind its name. Its modules are said to be there."""
    monkeypatch.setattr(kind, "LOADED", tmp_path / "modules")
    for module in kind.MODULES:
        (tmp_path / "modules" / module).mkdir(parents=True)
    for name, script in {"VBoxManage": MANAGE, "VBoxHeadless": HEADLESS}.items():
        (commands / name).write_text(script)
        (commands / name).chmod(0o755)
    return commands / "VBoxManage"


def bridged(plan: GuestPlan) -> set[str]:
    """The interfaces outside of any namespace of ours that guests' NICs are bridged to."""
    return {name for name in interfaces(OWN) if plan.record.run[-6:] in name}


@pytest.fixture
def plan(plan: GuestPlan) -> Iterator[GuestPlan]:
    yield replace(plan, config=virtualbox.Config())
    assert bridged(plan) == set()


@pytest.mark.system
class TestStarting:
    def test_what_is_missing_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "/nowhere")
        with pytest.raises(PlatformUnusable, match=r"no VBoxManage command found; needs VirtualBox 7\.0"):
            virtualbox.Kind().check(virtualbox.Config())

    @pytest.mark.usefixtures("manage")
    def test_an_older_one_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("VTAX_TEST_VERSION", "6.1.38_Debianr153438")
        with pytest.raises(PlatformUnusable, match=r"6\.1\.38_Debianr153438 has other options"):
            virtualbox.Kind().check(virtualbox.Config())

    def test_a_module_that_is_not_loaded_is_named(self, manage: Path, tmp_path: Path) -> None:
        virtualbox.Kind().check(virtualbox.Config())
        (tmp_path / "modules/vboxnetflt").rmdir()
        with pytest.raises(PlatformUnusable, match=r"module vboxnetflt is not loaded; .*modprobe vboxnetflt"):
            virtualbox.Kind().check(virtualbox.Config())

    def test_its_nics_are_bridged_to_silent_interfaces(self, plan: GuestPlan) -> None:
        with contextlib.ExitStack() as undo:
            (nic,) = bridge_nics(plan, undo)
            assert bridged(plan) == {nic.interface}
            assert interfaces(plan.host) == {"lo", "guestp0"}

            def look(ip):  # type: ignore[no-untyped-def]
                (link,) = ip.get_links(ip.link_lookup(ifname=nic.interface)[0])
                return link["flags"], link.get_attr("IFLA_ADDRESS"), len(ip.get_addr(index=link["index"]))

            flags, mac, addresses = OWN.netlink(look)
            assert flags & 0x81 == 0x81  # up, no ARP
            assert mac not in (nic.mac, None)
            assert addresses == 0
        assert bridged(plan) == set()
        assert interfaces(plan.host) == {"lo"}

    def test_a_machine_that_ends_at_once_says_why_and_leaves_nothing(
        self, plan: GuestPlan, manage: Path
    ) -> None:
        with pytest.raises(AgentGone, match="VBoxHeadless ended\nVBoxHeadless: error: the VMMR0 module"):
            virtualbox.Kind().start(plan)
        assert interfaces(plan.host) == {"lo"}
        assert not Path(f"{manage}.made").exists()
        assert "unregistervm" in Path(f"{manage}.calls").read_text()

    def test_a_refused_command_says_why_and_leaves_nothing(
        self, plan: GuestPlan, manage: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("VTAX_TEST_REFUSES", "yes")
        with pytest.raises(AgentGone, match="VBoxManage storageattach: VBoxManage: error: no such medium"):
            virtualbox.Kind().start(plan)
        assert not Path(f"{manage}.made").exists()

    def test_the_record_alone_removes_a_machine(self, plan: GuestPlan, manage: Path) -> None:
        remove, present = removal(str(manage), machine("virtio", 1).uuid)
        plan.record.add_removable("VirtualBox machine", "guest", remove=remove, present=present)
        Path(f"{manage}.made").touch()
        assert "VirtualBox machine guest" in [str(entry) for entry in plan.record.clean()]
        assert not plan.record.failed
        assert not Path(f"{manage}.made").exists()


EMULATED = """#!/bin/sh
line=$(sed -n 's/.*--uart-mode1 server \\([^ ]*\\).*/\\1/p' {calls})
disc=$(sed -n 's/.*--medium //p' {calls})
exec qemu-system-x86_64 -nodefaults -no-user-config -display none -machine q35 -accel tcg -cpu max -m 256 \\
    -cdrom "$disc" -serial "unix:$line,server=on,wait=off" -serial null
"""
"""What is done with a machine's disc and serial line, by an emulator in VBoxHeadless' place."""


@pytest.mark.hosts
@pytest.mark.system
def test_a_machine_starts_from_its_disc_answers_at_its_pipe_and_goes(
    plan: GuestPlan, manage: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "HELLO_TIMEOUT_S", 240)  # VirtualBox would not emulate its CPU
    (manage.parent / "VBoxHeadless").write_text(EMULATED.format(calls=f"{manage}.calls"))
    guest = virtualbox.Kind().start(plan)
    assert guest.agent.call("ping") is not None
    assert {pid for pid, _ in guest.threads().values()} == {guest.hypervisor.pid}
    guest.stop()
    assert guest.hypervisor.returncode is not None
    assert Path(f"{manage}.calls").read_text().splitlines()[-1].startswith("unregistervm")
    assert interfaces(plan.host) == {"lo"}
    guest.stop()
