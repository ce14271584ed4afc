"""Campaigns whose disk fills, or turns read-only: what is committed is read there and then, and they go on later."""

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.campaigns import assert_measured, start, vtax, wait_for_line
from vtax.results import Result

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

SCENARIO = """
name: test/disk
title: A test
question: Does the result outlive its disk?
workload: {kind: forwarding, warmup_s: 0, duration_s: 0.1, streams: 1, frame_bytes: 64}
testbed: {link_mbps: 1000, flow_control: true}
factors: {platform: [raw], intended_mbps: [2, 5]}
repetitions: 5
figures: [throughput-by-load]
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO)
    return path


def system(*command: str | Path) -> None:
    subprocess.run([str(word) for word in command], check=True, capture_output=True, timeout=60)


@dataclass
class Memory:
    """A file system in memory, a few hundred kilobytes large."""

    path: Path

    def mount(self, size: str) -> None:
        system("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", self.path)

    def resize(self, size: str) -> None:
        system("mount", "-o", f"remount,size={size}", self.path)


@dataclass
class Image:
    """An ext4 in a file, which turns read-only at its first error, as root file systems do."""

    path: Path
    image: Path

    def make(self) -> None:
        with self.image.open("wb") as file:
            file.truncate(64 << 20)
        system("mkfs.ext4", "-q", self.image)
        self.mount()

    def mount(self, options: str = "errors=remount-ro") -> None:
        system("mount", "-o", f"loop,{options}", self.image, self.path)

    def fail(self) -> None:
        """Have the kernel find an error in it."""
        device = subprocess.run(
            ["findmnt", "-no", "SOURCE", str(self.path)], check=True, capture_output=True, text=True
        )
        Path("/sys/fs/ext4", Path(device.stdout.strip()).name, "trigger_fs_error").write_text("a test")

    def unmount(self) -> None:
        system("umount", self.path)

    def repair(self) -> None:
        """What a person does next: check it, and mount it again."""
        self.unmount()
        checked = subprocess.run(["e2fsck", "-p", "-f", str(self.image)], check=False, capture_output=True)
        assert checked.returncode in (0, 1), checked.stdout
        self.mount()


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    (tmp_path / "disk").mkdir()
    disk = Memory(tmp_path / "disk")
    yield disk
    if disk.path.is_mount():
        system("umount", disk.path)


@pytest.fixture
def image(tmp_path: Path) -> Iterator[Image]:
    (tmp_path / "disk").mkdir()
    disk = Image(tmp_path / "disk", tmp_path / "image")
    disk.make()
    yield disk
    if disk.path.is_mount():
        disk.unmount()


def committed(out: Path) -> dict[int, dict[str, Any]]:
    """The trials with their flows, as the command line shows them."""
    query = "SELECT trial_id, started_at, verdict, frames_sent, frames_received FROM trials JOIN flows USING (trial_id)"
    done = vtax("sql", out, query, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    return {row["trial_id"]: row for row in json.loads(done.stdout)}


def assert_goes_on(scenario: Path, out: Path, before: dict[int, dict[str, Any]]) -> None:
    """It is resumed to its end, and measures nothing again."""
    assert_measured(vtax("run", scenario, "--resume", out, "--allow", "stored"))
    after = committed(out)
    assert {number: after[number] for number in before} == before
    result = Result.open(out)
    assert (result.damaged, result.campaign["status"]) == ([], "complete")
    per_cell = result.query(
        "SELECT block, cell, count(*) FILTER (verdict <> 'invalid') AS usable, count(*) AS n FROM trials GROUP BY ALL"
    ).to_pylist()
    assert len(per_cell) == 2 * result.campaign["scenario"]["repetitions"]
    assert all(row["usable"] == 1 or row["n"] == 3 for row in per_cell)


def trial_lines(text: str) -> int:
    return len(re.findall(r"^\[\d+/\d+\] ", text, re.MULTILINE))


def test_a_disk_that_fills_ends_the_campaign_and_loses_nothing(
    scenario: Path, tmp_path: Path, memory: Memory
) -> None:
    memory.mount("200k")
    out = memory.path / "out"
    done = vtax("run", scenario, "--out", out)
    assert done.returncode == 1
    said = done.stderr.splitlines()[-1]
    assert said.startswith(str(out))
    assert "No space left on device" in said
    assert said.endswith(f"Make room there, then go on with: vtax run SCENARIO --resume {out}")
    assert "Traceback" not in done.stderr

    before = committed(out)
    assert len(before) - trial_lines(done.stderr) in (0, 1)  # its parts may have fitted, and the journal not
    assert before
    shown = vtax("show", out)
    assert shown.returncode == 0
    assert re.search(r"(failed|cut short), \d+ of 10 trials measured", shown.stdout)
    assert list(out.rglob("*.tmp")) == []

    report = vtax("report", out)
    assert (report.returncode, report.stdout) == (1, "")
    assert f"{out}/report.html: No space left on device; all trials are kept" in report.stderr

    stuck = vtax("run", scenario, "--resume", out, "--allow", "stored")
    assert stuck.returncode == 1
    assert f"--resume {out}" in stuck.stderr.splitlines()[-1]
    assert before.items() <= committed(out).items()

    memory.resize("40m")
    assert_goes_on(scenario, out, committed(out))


def test_a_report_that_does_not_fit_spoils_nothing_else(scenario: Path, memory: Memory) -> None:
    memory.mount("1m")
    out = memory.path / "out"
    done = vtax("run", scenario, "--out", out, "--json")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert document["report"] is None
    assert document["summary"]
    assert f"{out}/report.html: No space left on device; all trials are kept" in done.stderr
    assert f"vtax report {out}" in done.stderr
    assert Result.open(out).campaign["status"] == "complete"
    assert [path.name for path in out.glob("*.html")] == []
    memory.resize("40m")
    assert vtax("report", out).returncode == 0


def test_a_disk_without_any_room_is_refused(scenario: Path, memory: Memory) -> None:
    memory.mount("8k")
    (memory.path / "filler").write_bytes(bytes(4096))
    done = vtax("run", scenario, "--out", memory.path / "out")
    assert done.returncode in (1, 2)
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_disk_that_turns_read_only_ends_the_campaign_and_loses_nothing(
    scenario: Path, image: Image
) -> None:
    out = image.path / "out"
    process = start("run", scenario, "--repetitions", "40", "--out", out)
    wait_for_line(process, r"^\[2/")
    image.fail()
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 1
    said = errors.splitlines()[-1]
    assert said.startswith(f"{out}")
    assert "Read-only file system" in said
    assert said.endswith(f"Mount it for writing again, then go on with: vtax run SCENARIO --resume {out}")
    assert "Traceback" not in errors

    before = committed(out)
    assert len(before) >= 2
    shown = vtax("show", out)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert re.search(r"cut short, \d+ of 80 trials measured", shown.stdout)
    report = vtax("report", out)
    assert report.returncode == 1
    assert "report.html: Read-only file system; all trials are kept" in report.stderr
    refused = vtax("run", scenario, "--resume", out, "--allow", "stored")
    assert refused.returncode == 1
    assert "Mount it for writing again" in refused.stderr.splitlines()[-1]

    image.repair()
    shorten(out, Result.open(out).query("SELECT max(block) + 2 AS n FROM trials").to_pylist()[0]["n"])
    assert_goes_on(scenario, out, before)
    image.unmount()
    image.mount("ro")
    assert set(committed(out)) >= set(before)


def shorten(out: Path, repetitions: int) -> None:
    """Leave less of a campaign to be done than it was begun with."""
    manifest = json.loads((out / "campaign.json").read_text())
    manifest["scenario"]["repetitions"] = repetitions
    (out / "campaign.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize("table", ["flows", "latency"])
def test_a_campaign_measures_again_what_its_disk_lost(table: str, scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert_measured(vtax("run", scenario, "--repetitions", "2", "--out", out))
    before = committed(out)
    part = out / table / "block-0000.parquet"
    part.write_bytes(part.read_bytes()[:-20])
    (out / "journal").write_bytes(b"")
    resumed = vtax("run", scenario, "--repetitions", "2", "--resume", out)
    assert_measured(resumed)
    kept = Result.open(out).query("SELECT trial_id FROM trials WHERE block = 1")["trial_id"].to_pylist()
    assert f"{out}/journal: cannot be read" in resumed.stderr
    assert f"{part}: damaged" in resumed.stderr
    assert f"measured again: {len(before) - len(kept)}\n" in resumed.stderr
    after = committed(out)
    assert {number: after[number] for number in kept} == {number: before[number] for number in kept}
    cells = Result.open(out).query("SELECT count(DISTINCT (block, cell)) AS n FROM trials").to_pylist()
    assert cells == [{"n": 4}]
