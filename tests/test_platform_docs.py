"""docs/adding-a-platform.md: the kind that it builds is whole, starts, and passes the tests that it shows.

docs/platforms.md: what of each preset was run.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT
from vtax.platforms import presets

TABLE = ROOT / "docs/platforms.md"
DOCUMENT = ROOT / "docs/adding-a-platform.md"


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
    for path in ("vtax/platforms/unshared.py", "tests/test_unshared.py"):
        (tmp_path / path).write_text(listing(path))
    (preset,) = re.findall(r"```yaml\n(title: [^`]*\nkind: unshared\n)```", DOCUMENT.read_text())
    (tmp_path / "vtax/data/platforms/unshared.yaml").write_text(preset)
    return tmp_path


def run(tree: Path, *arguments: str) -> str:
    """What Python prints with these arguments, run in the tree."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tree, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.system
def test_the_document_holds_word_by_word(tree: Path) -> None:
    assert "All checks passed!" in run(
        tree, "-m", "ruff", "check", "vtax/platforms", "tests/test_unshared.py"
    )
    run(tree, "-m", "ruff", "format", "--check", "vtax/platforms", "tests/test_unshared.py")
    run(tree, "-m", "mypy", "vtax/platforms/unshared.py")
    assert "4 passed" in run(tree, "-m", "pytest", "tests/test_unshared.py")
    assert "a namespace without a container runtime" in run(
        tree, "-c", "from vtax.cli import main; main(['list'])"
    )


def test_every_preset_is_in_the_table_of_what_was_run() -> None:
    """A row each: what of it, where, and when. What doctor says of one that was not is said there in the same words."""
    table = re.findall(
        r"^\| ([a-z0-9-]+)(?::\S+)? \| (.*)$", TABLE.read_text().partition("**Switches**")[0], re.MULTILINE
    )
    rows = {name: row for name, row in table if name != "platform"}
    assert rows.keys() == presets().keys()
    for name, preset in presets().items():
        what, where, when, *_ = rows[name].split(" | ")
        assert what.startswith(preset.untried or ("frames forwarded", "the same", "nothing: "))
        assert re.fullmatch(r"(here|emulated host|simulator) \w+ 20\d\d|– –", f"{where} {when}"), name


def test_its_excerpt_stands_in_the_code() -> None:
    (excerpt,) = re.findall(r"`container.py`:\n\n```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    code = " ".join((ROOT / "vtax/platforms/container.py").read_text().split())
    assert " ".join(excerpt.split()) in code
