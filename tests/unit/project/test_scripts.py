"""What the Makefile calls: a program is replaced while it runs, and what passed is not checked again."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

REPLACE, CHECKED = ROOT / "scripts/replace", ROOT / "scripts/checked"


def succeeds(*command: str | Path, cwd: Path | None = None) -> bool:
    return subprocess.run(command, cwd=cwd, check=False, capture_output=True, timeout=60).returncode == 0


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with a file in each of two folders."""
    if shutil.which("git") is None:
        pytest.skip("no git here, without which every check runs")
    for folder in ("python", "rust"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "file").write_text("first\n")
    (tmp_path / ".gitignore").write_text("/stamp\n/runs\n")
    assert succeeds("git", "init", "--quiet", tmp_path)
    return tmp_path


def runs_after_check(tree: Path, result: int = 0) -> int:
    """How often the command has run by now, when the folder `python` is checked."""
    command = f"echo run >> runs; exit {result}"
    assert succeeds(CHECKED, "stamp", "python", "--", "sh", "-c", command, cwd=tree) is not bool(result)
    return (tree / "runs").read_text().count("run")


def test_a_program_is_replaced_while_it_runs(tmp_path: Path) -> None:
    installed, new = tmp_path / "bin" / "agent", tmp_path / "new"
    new.write_bytes(Path("/bin/sleep").read_bytes())
    new.chmod(0o755)
    assert succeeds(REPLACE, new, installed)
    with subprocess.Popen([installed, "60"]) as running:
        new.write_bytes(Path("/bin/true").read_bytes())
        assert succeeds(REPLACE, new, installed)
        assert running.poll() is None
        running.kill()
    assert installed.read_bytes() == new.read_bytes()
    assert os.access(installed, os.X_OK)
    assert [path.name for path in installed.parent.iterdir()] == ["agent"]


def test_an_equal_program_is_left_as_it_is(tmp_path: Path) -> None:
    installed, new = tmp_path / "agent", tmp_path / "new"
    installed.write_text("same")
    new.write_text("same")
    before = installed.stat()
    assert succeeds(REPLACE, new, installed)
    assert (installed.stat().st_ino, installed.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_what_passed_runs_again_when_a_file_of_its_changes(tree: Path) -> None:
    assert runs_after_check(tree) == 1
    assert runs_after_check(tree) == 1
    (tree / "rust" / "file").write_text("second\n")
    assert runs_after_check(tree) == 1
    (tree / "python" / "file").write_text("second\n")
    assert runs_after_check(tree) == 2
    (tree / "python" / "untracked").write_text("new\n")
    assert runs_after_check(tree) == 3
    (tree / "python" / "untracked").unlink()
    assert runs_after_check(tree) == 4


def test_what_failed_runs_again(tree: Path) -> None:
    assert runs_after_check(tree, result=1) == 1
    assert runs_after_check(tree, result=1) == 2
    assert runs_after_check(tree) == 3
    assert runs_after_check(tree) == 3
