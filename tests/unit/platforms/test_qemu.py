"""QEMU's breadth: which keys go together, and what this machine can have of them."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.commands import command
from vtax.machine.tsc import tsc_khz
from vtax.platforms import GuestNic, PlatformUnusable, presets, qemu
from vtax.platforms.emulator import Emulator
from vtax.platforms.kernel import Kernel
from vtax.platforms.qemu_config import Config
from vtax.platforms.qemu_machine import NicEnd, SocketEnd, TapEnd, machine_words, nic_words

USER = {"backend": "vhost-user", "version": "backports", "offloads": "none"}


@pytest.mark.usefixtures("able")
@pytest.mark.parametrize(
    ("keys", "reason", "fix"),
    [
        ({"queues": 2}, "queues=2 are more than the vcpus=1", "vcpus=2"),
        ({"nic_model": "e1000", "queues": 2, "vcpus": 2}, "e1000 has no queues=2", "virtio-net-pci"),
        ({"nic_model": "vmxnet3", "offloads": "none"}, "vmxnet3 has no offloads=none", "virtio-net-pci"),
        ({"nic_model": "rtl8139", "machine": "microvm"}, "rtl8139 has no machine=microvm", "virtio-net-pci"),
        ({"tx_queue_size": 1024}, "QEMU makes 256 of tx_queue_size=1024", "backend=vhost-user"),
        ({**USER, "version": "installed"}, "installed QEMU's vhost-user fails", "version=backports"),
        ({**USER, "offloads": "all"}, "testpmd passes frames on as they are", "offloads=none"),
    ],
)
def test_keys_that_do_not_go_together_are_refused(keys: dict[str, Any], reason: str, fix: str) -> None:
    with pytest.raises(PlatformUnusable, match=re.escape(reason)) as unusable:
        qemu.Kind().check(Config(**keys))
    assert unusable.value.fix.startswith("needs ") and fix in unusable.value.fix
    assert "\n" not in str(unusable.value)


@pytest.mark.parametrize(
    "keys", [{"queues": 2, "vcpus": 2}, {"machine": "microvm"}, USER, {"nic_model": "e1000"}]
)
def test_keys_that_go_together_are_not(keys: dict[str, Any]) -> None:
    Config(**keys).check_combination()


@pytest.mark.parametrize("size", [0, 255, 300, 2048])
def test_rings_are_powers_of_two_within_bounds(size: int) -> None:
    preset = presets()["qemu-virtio"]
    assert dict(preset.problems({"rx_queue_size": size})).keys() == {"rx_queue_size"}
    assert preset.problems({"rx_queue_size": 512}) == []


@pytest.mark.usefixtures("able")
def test_a_vhost_guest_needs_the_hosts_device(
    monkeypatch: pytest.MonkeyPatch, commands: Path, tmp_path: Path
) -> None:
    command(commands, "qemu-system-x86_64", "echo QEMU emulator version 7.2.0")
    monkeypatch.setattr(qemu, "VHOST", tmp_path / "vhost-net")
    with pytest.raises(PlatformUnusable, match=f"no {tmp_path}/vhost-net") as unusable:
        qemu.Kind().check(Config(backend="vhost"))
    assert unusable.value.fix.endswith("modprobe vhost_net")


def test_the_counters_rate_is_what_the_kernel_found() -> None:
    """Which virtual machines show as that of their CPUs; others show the present one."""
    shown = re.search(r"^cpu MHz\s*: ([0-9.]+)", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    khz = tsc_khz()
    assert shown is not None and khz is not None
    if "hypervisor" in Path("/proc/cpuinfo").read_text():
        assert khz == pytest.approx(float(shown[1]) * 1000, rel=1e-4)
    else:
        assert 500_000 < khz < 8_000_000


@pytest.mark.parametrize("machine", ["q35", "microvm"])
@pytest.mark.parametrize(("accelerator", "is_told"), [("emulated", True), ("kvm", False)])
def test_an_emulated_kernel_is_told_the_counters_rate(
    machine: str, accelerator: str, is_told: bool, tmp_path: Path
) -> None:
    """On a busy host what it finds by itself may be wrong many times over."""
    kernel, emulator = Kernel("6.1.0", "linux-image", tmp_path), Emulator(["qemu-system-x86_64"], "7.2.0")
    config = Config(machine=machine)
    words = machine_words(emulator, kernel, tmp_path / "image", accelerator, None, config)
    given = words[words.index("-append") + 1].split()
    told = [word for word in given if word.startswith("tsc_early_khz=")]
    assert told == ([f"tsc_early_khz={tsc_khz()}"] if is_told else [])


@pytest.mark.usefixtures("able")
@pytest.mark.parametrize(
    ("device", "shown", "reason"), [(False, None, "no /dev/kvm"), (True, "emulated", "did not boot a guest")]
)
def test_kvm_presets_take_kvm_and_nothing_less(
    monkeypatch: pytest.MonkeyPatch, commands: Path, device: bool, shown: str | None, reason: str
) -> None:
    command(commands, "qemu-system-x86_64", "echo QEMU emulator version 7.2.0")
    monkeypatch.setattr(qemu, "has_device", lambda: device)
    monkeypatch.setattr(qemu, "known_accelerator", lambda *_: shown)
    preset = presets()["kvm-virtio"]
    with pytest.raises(PlatformUnusable, match=rf"{reason}.*presets qemu-\* emulate it"):
        preset.platform().check(preset.resolve({}))


class NoPort:
    lower = None
    offloads = True

    def attach(self, interface: str, guest_mac: str) -> None:
        pass


@pytest.mark.parametrize(
    ("keys", "end", "backend"),
    [
        ({}, TapEnd([3]), "tap"),
        ({"machine": "microvm"}, TapEnd([3]), "tap"),
        ({"backend": "vhost"}, TapEnd([3], [4]), "tap"),
        ({"nic_model": "e1000"}, TapEnd([3]), "tap"),
        (USER, SocketEnd(3, "guest"), "vhost-user"),
    ],
)
def test_a_guest_has_no_device_but_those_planned(
    keys: dict[str, Any], end: NicEnd, backend: str, tmp_path: Path
) -> None:
    """By itself QEMU gives a guest a NIC of user-mode networking, which reaches what the host reaches."""
    config = Config(**keys)
    emulator = Emulator(["qemu-system-x86_64"], "7.2.0")
    kernel = Kernel("6.1.0", "linux-image", tmp_path)
    machine = machine_words(emulator, kernel, tmp_path / "image", "emulated", None, config)
    assert {"-nodefaults", "-no-user-config"} <= {*machine}
    nics = [GuestNic(f"02:00:00:00:00:0{number}", NoPort(), 1500) for number in range(2)]
    words = [
        *machine,
        *(word for number, nic in enumerate(nics) for word in nic_words(config, number, nic, end)),
    ]
    given = {option: [after for word, after in pairwise(words) if word == option] for option in words}
    assert [netdev.split(",")[0] for netdev in given["-netdev"]] == [backend] * len(nics)
    assert sum("netdev=" in device for device in given["-device"]) == len(nics)
    assert len(given["-device"]) == len(nics) + 2, "the agent's port and its bus"
    assert not {"-nic", "-net", "-readconfig", "-monitor", "-qmp", "-gdb", "-s", "-vnc"} & given.keys()
