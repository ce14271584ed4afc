"""A campaign killed at any instant loses no committed trial, measures none again, and leaves nothing behind."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.helpers.campaigns import assert_measured, interrupt, start, trials, vtax, wait_for_line
from tests.helpers.footprint import footprint, settles
from tests.helpers.kill_at import CHOSEN, FURTHER, OTHERS_FURTHER, OTHERS_SOON, SOON, Instant, run_with_a_kill
from tests.helpers.records import owned_processes
from vtax.machine.ownership import Directory, OwnershipRecord
from vtax.machine.state import STATE_DIRECTORY
from vtax.results import Result

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

CELLS = 2
BLOCKS = 2


def everything(directory: Path) -> dict[Path, tuple[int, bytes]]:
    """When each file was last written, and what it holds."""
    files = (path for path in directory.rglob("*") if path.is_file())
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def assert_resumes(path: Path, out: Path) -> None:
    """Clean-up leaves the machine as it was; the campaign goes on to its end and keeps what it had."""
    before = trials(out)
    cleaned = vtax("clean")
    assert cleaned.returncode == 0, cleaned.stderr
    resumed = vtax("run", path, *CHOSEN, "--resume", out)
    assert_measured(resumed)
    after = trials(out)
    assert {number: after[number] for number in before} == before
    assert_every_cell_was_measured(out, resumed.stderr)
    assert Result.open(out).campaign["status"] == "complete"


def assert_every_cell_was_measured(out: Path, said: str) -> None:
    """Each cell of each block has one usable trial, or, on a machine that was too busy, all the trials it may have."""
    cells = Result.open(out).query(
        "SELECT block, cell, count(*) FILTER (verdict <> 'invalid') AS usable, count(*) AS n FROM trials GROUP BY ALL"
    )
    assert cells.num_rows == CELLS * BLOCKS, said
    assert all(row["usable"] == 1 or row["n"] == 3 for row in cells.to_pylist())


@pytest.mark.parametrize(
    "instant",
    [*SOON, *(pytest.param(instant, marks=pytest.mark.soak) for instant in FURTHER)],
    ids=str,
)
def test_a_killed_campaign_resumes(instant: Instant, scenario: Path, tmp_path: Path) -> None:
    clean = footprint()
    out = tmp_path / "out"
    killed = run_with_a_kill(instant, scenario, out)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    vtax("clean")
    assert settles(clean)
    assert_resumes(scenario, out)


@pytest.mark.parametrize(
    "instant",
    [*OTHERS_SOON, *(pytest.param(instant, marks=pytest.mark.soak) for instant in OTHERS_FURTHER)],
    ids=str,
)
def test_a_campaign_goes_on_when_an_agent_or_its_guest_is_killed(
    instant: Instant, scenario: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = run_with_a_kill(instant, scenario, out)
    assert done.returncode in (0, 3), done.stderr
    assert_every_cell_was_measured(out, done.stderr)


@pytest.mark.parametrize("agent", ["source", "sink"])
def test_an_agent_that_is_killed_spoils_its_trial_only(agent: str, scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    loads = "intended_mbps=" + ",".join(map(str, range(1, 11)))
    process = start("run", scenario, "--platform", "raw", "--set", loads, "--repetitions", "1", "--out", out)
    wait_for_line(process, r"^\[1/")
    (record,) = Path("/run/vtax").glob("*.owned")
    owned = [each for each in owned_processes(record.stem) if each.name == agent]
    os.kill(owned[-1].pid, signal.SIGKILL)
    _, errors = process.communicate(timeout=600)
    assert "raw: instrument failed: " in errors
    assert "; it is taken down" in errors
    result = Result.open(out)
    reasons = result.query("SELECT verdict, unnest(reasons) AS reason FROM trials").to_pylist()
    spoiled = [row for row in reasons if row["reason"].startswith("instrument failed")]
    assert [row["verdict"] for row in spoiled] == ["invalid"]
    cells = result.query("SELECT count(DISTINCT cell) AS n FROM trials").to_pylist()
    assert cells == [{"n": 10}]


def test_a_complete_campaign_has_nothing_to_resume(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ["--platform", "raw", "--set", "intended_mbps=5", "--repetitions", "1"]
    done = vtax("run", scenario, *options, "--out", out)
    assert_measured(done)
    before = everything(out)
    again = vtax("run", scenario, "--resume", out)
    said = f"{out}: the campaign is complete; to see it: vtax show {out}\n"
    assert (again.returncode, again.stdout) == (done.returncode, "")
    assert again.stderr.startswith(said)
    assert everything(out) == before


def test_a_campaign_is_resumed_with_its_own_settings(scenario: Path, tmp_path: Path) -> None:
    refused = vtax("run", scenario, "--resume", tmp_path, "--seed", "1")
    assert refused.returncode == 2
    assert "leave out --seed" in refused.stderr
    assert vtax("run", scenario, "--resume", tmp_path / "nothing").returncode == 2


def test_a_campaign_of_other_settings_is_resumed_only_where_that_is_typed(
    scenario: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    few = ("--platform", "raw", "--set", "intended_mbps=5")
    process = start("run", scenario, *few, "--repetitions", "20", "--out", out)
    wait_for_line(process, r"^\[1/")
    process.kill()
    process.communicate()
    vtax("clean")
    before = everything(out)
    refused = vtax("run", scenario, "--resume", out)
    assert refused.returncode == 2
    assert "  stored: repetitions: 2 typed, 20 stored\n" in refused.stderr
    assert '  stored: factors.platform: ["raw", "container"] typed, ["raw"] stored\n' in refused.stderr
    assert everything(out) == before
    manifest = json.loads((out / "campaign.json").read_text())
    manifest["scenario"]["repetitions"] = 3
    (out / "campaign.json").write_text(json.dumps(manifest))
    typed = vtax("run", scenario, *few, "--repetitions", "3", "--resume", out)
    assert typed.returncode in (0, 3), typed.stderr
    assert "typed" not in typed.stderr
    assert Result.open(out).campaign["status"] == "complete"


def test_clean_waits_for_no_running_campaign(scenario: Path, tmp_path: Path) -> None:
    process = start("run", scenario, "--platform", "raw", "--repetitions", "50", "--out", tmp_path / "out")
    wait_for_line(process, r"^\[1/")
    refused = vtax("clean")
    interrupt(process)
    assert refused.returncode == 2
    assert "in use by process" in refused.stderr


def test_clean_on_a_clean_machine() -> None:
    assert vtax("clean").stdout == "nothing to remove\n"


def test_what_cannot_be_removed_is_named_and_stays_in_its_record() -> None:
    record = OwnershipRecord("vtax-test-stays")
    record.open()
    stays = STATE_DIRECTORY / "vtax-test-file"
    record.add(Directory(str(stays)))
    stays.touch()
    try:
        cleaned = vtax("clean")
        assert cleaned.returncode == 1
        assert f"directory {stays} is still there: NotADirectoryError: " in cleaned.stderr
        assert f"removed directory {record.scratch}" in cleaned.stdout
        assert "1 still there" in cleaned.stdout
        assert [entry.name for entry in record.entries()] == [str(stays)]
    finally:
        record.path.unlink()
        stays.unlink()
