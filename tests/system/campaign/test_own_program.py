"""A program of the user's own starts guests: two builds by turns, what is recorded, and one swapped meanwhile."""

import shutil
from pathlib import Path

import pytest

from tests.helpers.campaigns import DISTURBED, interrupt, start, vtax, wait_for_line
from vtax.inputs.own_file import hash_file
from vtax.results import Result

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]


@pytest.fixture
def builds(tmp_path: Path) -> list[Path]:
    """The installed runc, as two builds of it."""
    found = shutil.which("runc")
    assert found is not None
    places = [tmp_path / name / "runc" for name in ("main", "patch")]
    for place in places:
        place.parent.mkdir()
        shutil.copy(found, place)
    return places


def test_two_builds_are_measured_by_turns(builds: list[Path], scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    factor = f"platform.binary={builds[0]},{builds[1]}"
    options = ["--platform", "container", "--set", "intended_mbps=10", "--duration", "0.2", "--fixed", "2"]
    done = vtax("ab", scenario, "--factor", factor, *options, "--fail-on", "throughput<-90%", "--out", out)
    assert done.returncode in (0, 3, 5), done.stderr
    assert done.returncode == 0 or any(words in done.stderr for words in DISTURBED), done.stderr
    said = f"{builds[0]} and {builds[1]} are one file by SHA-256: between them nothing differs (A/A)"
    assert said in done.stderr
    assert "".join(said.split()) in "".join(done.stdout.split())
    result = Result.open(out)
    files = result.campaign["platforms"]["container"]["facts"]["files"]
    assert {*files} == {*map(str, builds)}
    assert {about["sha256"] for about in files.values()} == {hash_file(str(builds[0]))}
    assert all(about["version"].startswith("runc version ") for about in files.values())
    levels = result.query('SELECT DISTINCT "platform.binary" AS level FROM trials ORDER BY ALL').to_pylist()
    assert [row["level"] for row in levels] == [*map(str, builds)]
    shown = vtax("show", out).stdout
    assert "platform.binary = main/runc" in shown
    assert str(tmp_path) not in "".join(line for line in shown.splitlines() if " = " in line)


def test_a_build_that_is_swapped_meanwhile_ends_the_campaign(
    builds: list[Path], scenario: Path, tmp_path: Path
) -> None:
    """No guest starts from the other file; with the first one back the campaign goes on."""
    out, build = tmp_path / "out", builds[0]
    options = ["--platform", "container", "--set", f"platform.binary={build}", "--set", "intended_mbps=10"]
    process = start("run", scenario, *options, "--repetitions", "20", "--out", out)
    try:
        wait_for_line(process, r"^\[\d+/")
        first = build.rename(tmp_path / "first")
        shutil.copy("/bin/true", build)
        _, errors = process.communicate(timeout=120)
    except BaseException:
        interrupt(process)
        raise
    assert process.returncode == 1, errors
    assert f"{build} has changed since the campaign began: its SHA-256 was " in errors
    assert "completed trials are kept; continue with --resume" in errors
    assert Result.open(out).campaign["status"] == "failed"
    resumed = vtax("run", scenario, *options, "--repetitions", "20", "--resume", out)
    assert resumed.returncode == 2
    assert "was measured with another file" in resumed.stderr
    build.unlink()
    first.rename(build)
    process = start("run", scenario, *options, "--repetitions", "20", "--resume", out)
    try:
        wait_for_line(process, r"^\[\d+/")
    finally:
        interrupt(process)
