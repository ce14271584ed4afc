"""A campaign over four testbeds with TLS, and what becomes of it when one of its parts fails.

After each: no committed trial is lost, none is there twice, and nothing is left on any host.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import vtax
from tests.helpers.campaigns import wait_for_line
from tests.helpers.cluster_campaigns import (
    ARRIVED,
    amid_a_block,
    assert_whole,
    committed,
    finish,
    scenario_of,
    start,
    stop_a_block,
)
from tests.helpers.testbeds import Ground, ground_of, wait_for
from vtax.machine.processes import children
from vtax.results import Result

pytestmark = [pytest.mark.system, pytest.mark.cluster, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with ground_of("abcd", tmp_path_factory.mktemp("ground")) as made:
        yield made


def test_four_testbeds_share_a_campaign(ground: Ground, tmp_path: Path) -> None:
    out = tmp_path / "out"
    errors = finish(
        ground.vtax("run", scenario_of(8, tmp_path), "--testbeds", ground.file, "--seed", "7", "--out", out)
    )
    assert_whole(ground, out, 8)
    result = Result.open(out)
    assert set(result.campaign["testbeds"]) == set(result.campaign["hosts"]) == set("abcd"), errors
    assert all(told["cpus"] and told["platforms"] for told in result.campaign["testbeds"].values())
    assert result.campaign["seed"] == 7
    assert "PRIVATE KEY" not in "".join(
        path.read_text(errors="replace") for path in out.rglob("*") if path.is_file()
    )
    assert re.search(r"testbed = a", (out / "report.html").read_text())


def test_a_worker_that_is_killed_in_a_block(ground: Ground, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process, before, testbed, block = amid_a_block(ground, 6, out)
    (worker,) = [pid for pid in testbed.below("spawn_main") if block in children(pid)]
    os.kill(worker, signal.SIGKILL)
    os.kill(block, signal.SIGCONT)
    errors = finish(process)
    assert re.search(rf"block \d was lost with {testbed.name}; it is handed out again", errors), errors
    assert_whole(ground, out, 6, before)


def test_a_scheduler_that_is_started_again(ground: Ground, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = start(ground, scenario_of(8, tmp_path), out)
    wait_for_line(process, ARRIVED)
    before = committed(out)
    assert ground.scheduler is not None
    ground.scheduler.end(signal.SIGKILL)
    ground.start_scheduler()
    errors = finish(process)
    assert re.search(r"block \d was lost with [abcd]; it is handed out again", errors), errors
    assert_whole(ground, out, 8, before)


def test_a_controller_that_is_killed(ground: Ground, tmp_path: Path) -> None:
    scenario, out = scenario_of(8, tmp_path), tmp_path / "out"
    process = start(ground, scenario, out)
    wait_for_line(process, ARRIVED)
    process.kill()
    process.communicate()
    before = committed(out)
    assert 0 < len({number // 1_000_000 for number in before}) < 8
    for testbed in ground.testbeds.values():
        wait_for("blocks end that nobody wants", lambda bed=testbed: bed.block is None)
        assert not testbed.below("vtax-agent")
    finish(ground.vtax("run", scenario, "--testbeds", ground.file, "--resume", out))
    assert_whole(ground, out, 8, before)


def test_a_disk_that_is_full_where_blocks_are_collected(ground: Ground, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", disk], check=True)
    try:
        scenario, out = scenario_of(8, tmp_path), disk / "out"
        process = start(ground, scenario, out)
        wait_for_line(process, ARRIVED)
        before = committed(out)
        subprocess.run(["dd", "if=/dev/zero", f"of={disk}/filler", "bs=4k"], check=False, capture_output=True)
        _, errors = process.communicate(timeout=400)
        assert process.returncode == 1, errors
        assert "No space left on device; completed trials are kept" in errors
        assert before.items() <= committed(out).items()
        (disk / "filler").unlink()
        finish(ground.vtax("run", scenario, "--testbeds", ground.file, "--resume", out))
        assert_whole(ground, out, 8, before)
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_testbed_that_is_slow(ground: Ground, tmp_path: Path) -> None:
    """Its block is handed out again; what it measures is not waited for, and not kept."""
    out = tmp_path / "out"
    process, before, testbed, _ = amid_a_block(ground, 5, out)
    errors = finish(process)
    assert re.search(rf"block \d takes {testbed.name} long; another testbed has it too", errors), errors
    assert re.search(rf"block \d is not waited for any more from {testbed.name}", errors), errors
    assert_whole(ground, out, 5, before)


def test_a_cable_that_is_out_for_a_second(ground: Ground, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process, before, testbed, block = amid_a_block(ground, 6, out)
    ground.cut(testbed)
    os.kill(block, signal.SIGCONT)
    time.sleep(1)  # the outage itself
    ground.cut(testbed, joined=True)
    errors = finish(process)
    assert "lost" not in errors
    assert_whole(ground, out, 6, before)


def test_a_cable_that_is_cut_for_good(ground: Ground, tmp_path: Path) -> None:
    """The testbed takes everything down by itself, and keeps what it measured for a campaign that may come back."""
    out = tmp_path / "out"
    testbed = ground.start_testbed("e")
    try:
        process = start(ground, scenario_of(10, tmp_path), out)
        _, block = stop_a_block(testbed)
        before = committed(out)
        ground.cut(testbed)
        os.kill(block, signal.SIGCONT)
        errors = finish(process)
        assert re.search(
            r"block \d was lost with e; it is handed out again|not waited for any more from e", errors
        )
        wait_for("all is taken down by itself", lambda: not testbed.leftovers())
    finally:
        ground.end_testbed("e")
    assert_whole(ground, out, 10, before)


def test_a_disk_that_is_full_on_a_testbed(ground: Ground, tmp_path: Path) -> None:
    disk = ground.directory / "cache-f"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", disk], check=True)
    try:
        out = tmp_path / "out"
        testbed = ground.start_testbed("f")
        process = start(ground, scenario_of(10, tmp_path), out)
        _, block = stop_a_block(testbed)
        before = committed(out)
        subprocess.run(["dd", "if=/dev/zero", f"of={disk}/filler", "bs=4k"], check=False, capture_output=True)
        os.kill(block, signal.SIGCONT)
        errors = finish(process)
        assert re.search(r"f gets no blocks: .*No space left on device", errors), errors
        (disk / "filler").unlink()
        assert_whole(ground, out, 10, before)
    finally:
        ground.end_testbed("f")
        subprocess.run(["umount", disk], check=True)


def test_a_testbed_of_another_version(ground: Ground, tmp_path: Path) -> None:
    other, out = tmp_path / "other_version.py", tmp_path / "out"
    other.write_text("import vtax\nvtax.__version__ = '0.0.9'\n")
    ground.start_testbed("g", None, "--preload", str(other))
    try:
        errors = finish(start(ground, scenario_of(6, tmp_path), out))
        assert (
            f"g gets no blocks: it has vtax 0.0.9, and the campaign is of vtax {vtax.__version__}" in errors
        )
        assert_whole(ground, out, 6)
        assert "g" not in Result.open(out).campaign["testbeds"]
    finally:
        ground.end_testbed("g")
