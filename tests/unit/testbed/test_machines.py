"""The machine that vtax runs on, as a testbed."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from vtax.inputs import InputError
from vtax.machine.ownership import OwnershipRecord
from vtax.testbed.layout import cpu_layout, shared_core
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


@pytest.mark.parametrize(
    ("count", "agents", "layout", "is_shared"),
    [
        (1, 1, "0 0 0 0", True),
        (2, 1, "0 1 1 0", True),
        (3, 1, "0 1 2 0", False),
        (4, 1, "0 1 2 3", False),
        (6, 1, "0 1 2,3,4 5", False),
        (2, 2, "0,1 1 1 0", True),
        (4, 2, "0,1 2 3 0", False),
        (5, 2, "0,1 2 3 4", False),
        (8, 4, "0,1,2,3 4 5,6 7", False),
        (4, 4, "0,1,2,3 3 3 0", True),
    ],
)
def test_roles_share_cpus_where_there_are_too_few(
    count: int, agents: int, layout: str, is_shared: bool
) -> None:
    found = cpu_layout({*range(count)}, agents)
    roles = ("agents", "host", "guests", "controller")
    assert " ".join(",".join(map(str, found[role])) for role in roles) == layout
    assert shared_core(found) is is_shared


def test_agents_have_as_many_cpus_as_threads_send(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3, 4, 5, 6})
    machines = OneMachine()
    machines.seat_threads(3)
    assert machines.machine("uut").cpus["agents"] == [0, 1, 2]
    with pytest.raises(InputError, match=r"8 threads need a CPU each.*have 7; allowed there: 1 to 7"):
        machines.seat_threads(8)


def test_who_has_chosen_the_cpus_keeps_them(tmp_path: Path) -> None:
    machines = OneMachine(OwnershipRecord("vtax-test-cpus", tmp_path), CPUS)
    machines.seat_threads(1)
    assert machines.machine("uut").cpus == CPUS
    with pytest.raises(InputError, match=r"workload.source_threads: 2 threads"):
        machines.seat_threads(2)
