"""QEMU's breadth: which keys go together, what they are on its command line, and that guests forward with them."""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.campaigns import vtax
from tests.helpers.commands import command
from tests.helpers.namespaces import interfaces
from vtax.machine.agent import AgentGone
from vtax.machine.tsc import tsc_khz
from vtax.platforms import GuestNic, GuestPlan, PlatformUnusable, presets, qemu
from vtax.platforms.qemu_config import Config
from vtax.platforms.qemu_machine import nic_words
from vtax.platforms.tap import open_tap
from vtax.platforms.vhost_user import start_switch
from vtax.results import Result

USER = {"backend": "vhost-user", "version": "backports", "offloads": "none"}


@pytest.mark.usefixtures("able")
@pytest.mark.parametrize(
    ("keys", "reason", "remedy"),
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
def test_keys_that_do_not_go_together_are_refused(keys: dict[str, Any], reason: str, remedy: str) -> None:
    with pytest.raises(PlatformUnusable, match=re.escape(reason)) as unusable:
        qemu.Kind().check(Config(**keys))
    assert unusable.value.remedy.startswith("needs ") and remedy in unusable.value.remedy
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
    assert unusable.value.remedy.endswith("modprobe vhost_net")


@pytest.mark.system
def test_nics_in_qemus_words(plan: GuestPlan) -> None:
    def device(**keys: Any) -> list[str]:
        words = nic_words(Config(**keys), 0, nic, [3] * keys.get("queues", 1))
        return words[-1].split(",")

    nic: GuestNic = plan.nics[0]
    assert device(nic_model="e1000") == ["e1000", "netdev=n0", f"mac={nic.mac}", "romfile="]
    assert {"virtio-net-pci", "mq=on", "vectors=6"} <= {*device(queues=2, vcpus=2)}
    assert {"virtio-net-device", "mq=on"} <= {*(of_microvm := device(queues=2, vcpus=2, machine="microvm"))}
    assert not any(word.startswith(("romfile", "vectors")) for word in of_microvm)
    assert {"csum=off", "mrg_rxbuf=off", "host_tso4=off", "guest_tso6=off"} <= {*device(offloads="none")}
    assert {"rx_queue_size=1024", "tx_queue_size=256"} <= {*device(rx_queue_size=1024)}
    assert "tap,id=n0,fds=3:3,vhost=on" in nic_words(Config(backend="vhost"), 0, nic, [3, 3])


def test_the_counters_rate_is_what_the_kernel_found() -> None:
    """Which virtual machines show as that of their CPUs; others show the present one."""
    shown = re.search(r"^cpu MHz\s*: ([0-9.]+)", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    khz = tsc_khz()
    assert shown is not None and khz is not None
    if "hypervisor" in Path("/proc/cpuinfo").read_text():
        assert khz == pytest.approx(float(shown[1]) * 1000, rel=1e-4)
    else:
        assert 500_000 < khz < 8_000_000


@pytest.mark.system
def test_a_tap_has_a_descriptor_a_queue(plan: GuestPlan) -> None:
    descriptors = open_tap(plan.host, "guestp0", 1500, queues=3)
    try:
        (queues,) = plan.host.netlink(
            lambda ip: [
                link.get_attr("IFLA_NUM_TX_QUEUES")
                for link in ip.get_links()
                if link.get_attr("IFLA_IFNAME") == "guestp0"
            ]
        )
        assert len(descriptors) == 3 <= queues
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    assert interfaces(plan.host) == {"lo"}


@pytest.mark.system
def test_a_port_that_takes_no_interface_is_refused(plan: GuestPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    (nic,) = plan.nics
    monkeypatch.setattr(type(nic.port), "lower", "in0")
    with pytest.raises(PlatformUnusable, match=r"no place for testpmd's .* needs testbed\.switch=bridge"):
        start_switch(plan, 1)
    assert interfaces(plan.host) == {"lo"}


@pytest.mark.system
def test_a_switch_that_fails_leaves_nothing_and_says_why(plan: GuestPlan, commands: Path) -> None:
    command(commands, "dpdk-testpmd", "echo 'EAL: Cannot allocate memory'; exit 1")
    with pytest.raises(AgentGone, match=r"dpdk-testpmd exited 1: EAL: Cannot allocate memory"):
        start_switch(replace(plan, config=Config(**USER)), 1)
    assert interfaces(plan.host) == {"lo"}


@pytest.mark.system
@pytest.mark.platform
@pytest.mark.usefixtures("leaves_nothing")
def test_keys_are_factors_and_impossible_cells_alone_are_refused(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sets = ["platform.queues=2,4", "platform.offloads=none", "platform.rx_queue_size=1024", "intended_mbps=1"]
    options = [word for each in sets for word in ("--set", each)]
    done = vtax("run", scenario, "--platform", "qemu-virtio-mq", *options, "--repetitions", "1", "--out", out)
    refused = "queues=4 are more than the vcpus=2 that could serve them; needs vcpus=4"
    assert refused in done.stderr
    assert done.returncode == 3, "of the refused cell"
    result = Result.open(out)
    facts = result.campaign["platforms"]["qemu-virtio-mq"]["facts"]
    assert (facts["queues"], facts["offloads"], facts["rx_queue_size"]) == (2, "none", 1024)
    flows = result.query("SELECT loss_ratio FROM flows").to_pylist()
    assert flows and all(flow["loss_ratio"] == 0 for flow in flows), done.stderr


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
