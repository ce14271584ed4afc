"""QEMU's breadth: what keys are on its command line, and that guests forward with them."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.campaigns import vtax
from tests.helpers.commands import command
from tests.helpers.namespaces import interfaces
from vtax.machine.agent import AgentGone
from vtax.platforms import GuestNic, GuestPlan, PlatformUnusable
from vtax.platforms.qemu_config import Config
from vtax.platforms.qemu_machine import TapEnd, nic_words
from vtax.platforms.tap import open_tap
from vtax.platforms.vhost_user import start_switch
from vtax.results import Result

pytestmark = pytest.mark.system


def test_nics_in_qemus_words(plan: GuestPlan) -> None:
    def device(**keys: Any) -> list[str]:
        words = nic_words(Config(**keys), 0, nic, TapEnd([3] * keys.get("queues", 1)))
        return words[-1].split(",")

    nic: GuestNic = plan.nics[0]
    assert device(nic_model="e1000") == ["e1000", "netdev=n0", f"mac={nic.mac}", "romfile="]
    assert {"virtio-net-pci", "mq=on", "vectors=6"} <= {*device(queues=2, vcpus=2)}
    assert {"virtio-net-device", "mq=on"} <= {*(of_microvm := device(queues=2, vcpus=2, machine="microvm"))}
    assert not any(word.startswith(("romfile", "vectors")) for word in of_microvm)
    assert {"csum=off", "mrg_rxbuf=off", "host_tso4=off", "guest_tso6=off"} <= {*device(offloads="none")}
    assert {"rx_queue_size=1024", "tx_queue_size=256"} <= {*device(rx_queue_size=1024)}
    served = nic_words(Config(backend="vhost"), 0, nic, TapEnd([3, 4], [5, 6]))
    assert "tap,id=n0,fds=3:4,vhost=on,vhostfds=5:6" in served


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


def test_a_port_that_takes_no_interface_is_refused(plan: GuestPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    (nic,) = plan.nics
    monkeypatch.setattr(type(nic.port), "lower", "in0")
    with pytest.raises(PlatformUnusable, match=r"no place for testpmd's .* needs testbed\.switch=bridge"):
        start_switch(plan, 1)
    assert interfaces(plan.host) == {"lo"}


def test_a_switch_that_fails_leaves_nothing_and_says_why(plan: GuestPlan, commands: Path) -> None:
    command(commands, "dpdk-testpmd", "echo 'EAL: Cannot allocate memory'; exit 1")
    with pytest.raises(AgentGone, match=r"dpdk-testpmd exited 1: EAL: Cannot allocate memory"):
        config = Config(backend="vhost-user", version="backports", offloads="none")
        start_switch(replace(plan, config=config), 1, confined=False)  # this testpmd is root's alone
    assert interfaces(plan.host) == {"lo"}


@pytest.mark.platform
@pytest.mark.usefixtures("leaves_nothing")
def test_keys_are_factors_and_impossible_cells_alone_are_refused(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sets = [
        "platform.queues=2,4",
        "platform.offloads=none",
        "platform.rx_queue_size=1024",
        "intended_mbps=0.1",
    ]
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
