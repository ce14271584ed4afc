"""Time that quotas held threads back is read in both versions of cgroups, of a process's own and those above."""

from pathlib import Path

import pytest

from vtax.machine.throttling import throttled_s


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A process 7 in `/jobs/one` of version 1, and in `/slice` of version 2."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/7").mkdir()
    (tmp_path / "proc/self/mounts").write_text(
        f"proc /proc proc rw 0 0\ncgroup {tmp_path}/cpu cgroup rw,cpu,cpuacct 0 0\n"
        f"cgroup {tmp_path}/pids cgroup rw,pids 0 0\ncgroup2 {tmp_path}/unified cgroup2 rw 0 0\n"
    )
    (tmp_path / "proc/7/cgroup").write_text("3:pids:/jobs/one\n2:cpu,cpuacct:/jobs/one\n0::/slice\n")
    return tmp_path / "proc"


def count(directory: Path, *lines: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "cpu.stat").write_text("".join(f"{line}\n" for line in lines))


def test_each_version_has_its_unit(proc: Path, tmp_path: Path) -> None:
    count(tmp_path / "cpu/jobs/one", "nr_periods 9", "nr_throttled 3", "throttled_time 250000000")
    count(tmp_path / "unified/slice", "usage_usec 5", "nr_throttled 3", "throttled_usec 500000")
    assert throttled_s([7], proc) == {"/jobs/one": 0.25, "/slice": 0.5}


def test_quotas_above_count_and_those_that_held_nothing_back_do_not(proc: Path, tmp_path: Path) -> None:
    count(tmp_path / "cpu/jobs/one", "throttled_time 0")
    count(tmp_path / "cpu/jobs", "throttled_time 1000000000")
    count(tmp_path / "cpu", "throttled_time 2000000000")
    assert throttled_s([7, 7], proc) == {"/jobs": 1.0, "/": 2.0}


def test_where_nothing_is_counted_nothing_is_held_back(proc: Path, tmp_path: Path) -> None:
    count(tmp_path / "unified/slice", "usage_usec 5")
    assert throttled_s([7, 8], proc) == {}


def test_what_is_above_the_view_is_not_looked_for(proc: Path, tmp_path: Path) -> None:
    (proc / "7/cgroup").write_text("0::/../other\n")
    count(tmp_path / "other", "throttled_usec 5")
    count(tmp_path / "unified/other", "throttled_usec 5")
    assert throttled_s([7], proc) == {}
