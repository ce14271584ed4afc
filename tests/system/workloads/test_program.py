"""Programs of one's own on this machine: within the bare host, between two, and in a container."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.campaigns import DISTURBED
from tests.helpers.disturb import Act
from tests.helpers.paths import DATA
from vtax.cli import main
from vtax.results import Result
from vtax.views.summary import summarise

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

PROGRAMS = DATA / "programs"
SCENARIO = """
name: own/programs
title: Programs
question: How long?
workload:
  kind: program
  server: [./server.py, "{address}", "{port}", calm]
  ready: at your service
  client: [./client.py, "{address}", "{port}", "{iterations}"]
  files: [server.py, client.py]
  iterations: 200
factors:
  platform: [raw]
repetitions: 1
figures: [rounds-histogram, rounds-mesh]
"""


def measured(directory: Path, *options: str, mood: str = "calm") -> Result:
    for program in PROGRAMS.iterdir():
        shutil.copy(program, directory)
    path = directory / "programs.yaml"
    path.write_text(SCENARIO.replace("calm", mood).lstrip())
    main(["run", str(path), "--allow", "programs", *options, "--out", str(directory / "out")])
    return Result.open(directory / "out")


def alive(mark: str) -> list[int]:
    """Processes of this machine that were started as that program."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if mark.encode() in words:
            found.append(int(process.name))
    return found


def test_programs_are_timed_wherever_the_client_is(tmp_path: Path) -> None:
    options = ("--set", "placement=inside,guest-to-peer", "--set", "workload.runs=2")
    result = measured(tmp_path, *options, mood="stubborn")
    rows = result.query("SELECT * FROM trials JOIN flows USING (trial_id)").to_pylist()
    assert {row["placement"] for row in rows} == {"inside", "guest-to-peer"}
    for row in rows:
        assert row["server"] == "server.py"
        assert any(
            reason.startswith("output lines of the client that are no samples: 1")
            for reason in row["reasons"]
        )
        assert (row["transactions"], row["failed"]) == (200, 0)
        assert row["verdict"] != "invalid" or any(words in row["reasons"][0] for words in DISTURBED), row
    samples = result.query(
        "SELECT trial_id, count(*) AS n, min(ns) AS least FROM samples GROUP BY 1"
    ).to_pylist()
    assert {row["trial_id"] for row in samples} == {row["trial_id"] for row in rows}
    assert all(row["n"] == 200 and row["least"] > 0 for row in samples)
    assert alive("./server.py") == []
    summary = summarise(result)
    assert {row.setting.label for row in summary.runs.rounds} == {
        f"server.py, {placement}" for placement in ("inside", "guest-to-peer")
    }
    # The result has what was run, and goes by that when it is resumed.
    for name in ("server.py", "client.py"):
        assert (tmp_path / "out" / "files" / name).read_bytes() == (PROGRAMS / name).read_bytes()


def test_programs_run_in_containers_too(tmp_path: Path) -> None:
    """In later ones as well, which find the directories of earlier ones."""
    if shutil.which("runc") is None:
        pytest.skip("no runc command found")
    options = ("--platform", "container", "--set", "placement=inside,intra-host", "--repetitions", "2")
    rows = measured(tmp_path, *options).query("SELECT * FROM trials JOIN flows USING (trial_id)").to_pylist()
    came = {(row["block"], row["placement"], row["transactions"]) for row in rows}
    assert came == {(block, placement, 200) for block in (0, 1) for placement in ("inside", "intra-host")}


def test_guests_with_a_file_system_of_their_own_serve_pages(tmp_path: Path) -> None:
    """Debian's lighttpd, asked by a script: none of it has to be installed here, and no guest has what is."""
    out = tmp_path / "out"
    small = ("--set", "workload.iterations=20", "--set", "workload.runs=1", "--set", "placement=inside")
    patient = ("--set", "workload.ready_s=60")
    chosen = ("--platform", "lxc,uml,qemu-virtio", "--repetitions", "1", "--allow", "programs")
    main(["run", "matthews2009/http", *chosen, *small, *patient, "--out", str(out)])
    result = Result.open(out)
    rows = result.query("SELECT * FROM trials JOIN flows USING (trial_id)").to_pylist()
    assert {row["platform"] for row in rows} == {"lxc", "uml", "qemu-virtio"}
    for row in rows:
        assert row["server"] == "lighttpd"
        assert row["transactions"] + row["failed"] == 20
        assert row["transactions"] > 0
        assert row["verdict"] != "invalid" or any(words in row["reasons"][0] for words in DISTURBED), row
    facts = [platform["facts"] for platform in result.campaign["platforms"].values()]
    assert len({each["package lighttpd"] for each in facts}) == 1
    assert not any("package python3-venv" in each for each in facts), "it is installed here alone"


def test_a_server_that_dies_ends_the_run_and_is_told_of(tmp_path: Path) -> None:
    # The client waits for ten minutes where nobody ends it.
    result = measured(tmp_path, "--set", "workload.run_s=3600", mood="dies")
    rows = result.query("SELECT verdict, reasons FROM trials").to_pylist()
    assert {row["verdict"] for row in rows} == {"invalid"}
    for row in rows:
        assert row["reasons"][0] == (
            "the server ./server.py ended: exit status 7; its last output: at your service / out of luck"
        )
    assert alive("./client.py") == []


def kill_the_server(run: str) -> None:
    (server,) = alive("./server.py")
    os.kill(server, signal.SIGKILL)


def test_a_server_that_is_killed_is_started_anew(tmp_path: Path, in_the_trial: Callable[[Act], None]) -> None:
    in_the_trial(kill_the_server)
    died, *later = (
        measured(tmp_path).query("SELECT verdict, reasons FROM trials ORDER BY trial_id").to_pylist()
    )
    assert died["verdict"] == "invalid"
    assert died["reasons"][0].startswith("the server ./server.py ended: signal SIGKILL")
    assert later
    assert not any("has ended" in reason for row in later for reason in row["reasons"])
