"""What the doctor says of CPUs by how long the same work took them, look by look."""

from collections.abc import Iterable

import pytest

from vtax.agent_api import CanaryReading
from vtax.doctor.steady import judge, slowdown

QUIET = CanaryReading(
    cpu=0, chain_ns=1.36, parallel_ns=0.61, load_ns=145.0, system_call_ns=164.0, frame_ns=3100.0
)
SHARED = CanaryReading(
    cpu=0, chain_ns=1.37, parallel_ns=0.85, load_ns=147.0, system_call_ns=216.0, frame_ns=4100.0
)
SLOWED = CanaryReading(
    cpu=0, chain_ns=1.9, parallel_ns=0.85, load_ns=147.0, system_call_ns=230.0, frame_ns=4300.0
)


def looks(*of_one_cpu: Iterable[CanaryReading]) -> list[list[CanaryReading]]:
    return [list(look) for look in zip(*of_one_cpu, strict=True)]


def test_a_quiet_machine_is_steady() -> None:
    check = judge(looks([QUIET] * 30, [QUIET] * 30))
    assert check.usable
    assert check.detail == "the same work takes as long in 30 looks, within 10%"


def test_one_look_in_thirty_is_an_interruption() -> None:
    assert judge(looks([SLOWED, *[QUIET] * 29])).usable


def test_cores_that_others_share_are_told_by_what_fills_a_core() -> None:
    check = judge(looks([QUIET] * 30, [*[QUIET] * 20, *[SHARED] * 10]))
    assert not check.usable
    assert check.detail == (
        "others share their cores: system calls take up to 1.32 times as long, frames 1.32; "
        "needs whole cores (a dedicated host, no SMT), or more repetitions"
    )


def test_a_clock_rate_that_changes_is_told_by_what_waits() -> None:
    check = judge(looks([*[QUIET] * 20, *[SLOWED] * 10]))
    assert not check.usable
    assert check.detail.startswith("their clock rate changes: the same work takes up to 1.40 times as long")


@pytest.mark.parametrize(("slow", "expected"), [(0, 1.0), (2, 1.0), (10, 216 / 164), (26, 216 / 164)])
def test_a_slowdown_is_between_the_fastest_and_the_slowest_tenth(slow: int, expected: float) -> None:
    found = slowdown(
        looks([*[SHARED] * slow, *[QUIET] * (30 - slow)]), lambda reading: reading.system_call_ns
    )
    assert found == pytest.approx(expected)
