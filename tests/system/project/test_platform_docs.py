"""docs/adding-a-platform.md: the kind that it builds is whole, starts, and passes the tests that it shows."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

pytestmark = pytest.mark.system

DOCUMENT = ROOT / "docs/adding-a-platform.md"
TEST = "tests/system/platforms/test_unshared.py"


def listing(path: str) -> str:
    """The code that the document gives for a file."""
    (found,) = re.findall(rf"```python\n# {re.escape(path)}\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    return str(found)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The source tree after someone has followed the document."""
    for name in ("vtax", "tests", "docs", "pyproject.toml"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tmp_path / name)
    for path in ("vtax/platforms/unshared.py", TEST):
        (tmp_path / path).write_text(listing(path))
    (preset,) = re.findall(r"```yaml\n(title: [^`]*\nkind: unshared\n)```", DOCUMENT.read_text())
    (tmp_path / "vtax/data/platforms/unshared.yaml").write_text(preset)
    return tmp_path


def run(tree: Path, *arguments: str) -> str:
    """What Python prints with these arguments, run in the tree."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tree, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.timeout(1200)
def test_the_document_holds_word_by_word(tree: Path) -> None:
    assert "All checks passed!" in run(tree, "-m", "ruff", "check", "vtax/platforms", TEST)
    run(tree, "-m", "ruff", "format", "--check", "vtax/platforms", TEST)
    run(tree, "-m", "mypy", "vtax/platforms/unshared.py")
    assert "4 passed" in run(tree, "-m", "pytest", "-m", "system", TEST)
    assert "a namespace without a container runtime" in run(
        tree, "-c", "from vtax.cli import main; main(['list'])"
    )
