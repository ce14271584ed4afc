"""The machine that vtax runs on, as a testbed."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from vtax.machine.ownership import OwnershipRecord
from vtax.testbed.machines import OneMachine

CPUS = {"agents": [0], "host": [1], "guests": [1], "controller": [0]}


@pytest.fixture
def _controllers_cpu() -> Iterator[None]:
    """This process stays on one CPU, as a controller does that holds its machine."""
    affinity = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(affinity)})
    yield
    os.sched_setaffinity(0, affinity)


@pytest.mark.usefixtures("_controllers_cpu")
def test_hosts_have_the_cpus_that_who_holds_the_machine_has_chosen(tmp_path: Path) -> None:
    machines = OneMachine(OwnershipRecord("vtax-test-cpus", tmp_path), CPUS)
    assert machines.host("uut").cpus == machines.machine("uut").cpus == CPUS
