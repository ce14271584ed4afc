"""Virtual CPUs on CPUs of their own: whose turn it is."""

from pathlib import Path

import pytest

from vtax.machine.ownership import OwnershipRecord
from vtax.platforms import PlatformConfig, qemu, raw
from vtax.platforms.egress_qdisc import GuestConfig
from vtax.testbed.scheduling import Scheduling


def test_guests_take_turns(tmp_path: Path) -> None:
    scheduling = Scheduling(OwnershipRecord("vtax-test", tmp_path), {"guests": [4, 5, 6]})
    assert scheduling.take_turns(2) == [4, 5]
    assert scheduling.take_turns(0) == []
    assert scheduling.take_turns(2) == [6, 4]
    scheduling.close()
    assert scheduling.take_turns(1) == [4]


@pytest.mark.parametrize(
    ("config", "turns"),
    [
        (qemu.Config(vcpus=3, pinned=True), 3),
        (qemu.Config(vcpus=3), 0),
        (GuestConfig(pinned=True), 1),
        (GuestConfig(), 0),
        (raw.Config(), 0),
    ],
)
def test_each_virtual_cpu_has_a_turn(config: PlatformConfig, turns: int) -> None:
    assert config.pinned_vcpus == turns
