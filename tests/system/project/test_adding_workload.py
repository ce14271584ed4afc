"""docs/adding-a-workload.md, carried out word for word: the kind is whole, is measured, and is shown."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

PAGE = (ROOT / "docs/adding-a-workload.md").read_text()
FOLDER = "vtax/workloads/loop"
VTAX = """
import sys
from tests.helpers.tolerance import tolerate
from vtax.__main__ import main
tolerate()
sys.exit(main())
"""
"""What others take of the machine's CPUs makes no trial invalid: the page is about other things."""


def run(tree: Path, *arguments: str) -> str:
    """What Python prints with these arguments, run in the tree."""
    done = subprocess.run(
        [sys.executable, *arguments],
        check=False,
        capture_output=True,
        text=True,
        cwd=tree,
        timeout=900,
        env={**os.environ, "PYTHONPATH": f"{tree}:{ROOT}"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The source tree after someone has followed the page."""
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / "vtax", tree / "vtax", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tree)
    for path, content in re.findall(r"```(?:python|yaml)\n# (\S+)\n(.*?)```", PAGE, re.DOTALL):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(content)
    (changes,) = re.findall(r"```diff\n(.*?)```", PAGE, re.DOTALL)
    done = subprocess.run(
        ["git", "apply", "-"], input=changes, cwd=tree, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return tree


@pytest.mark.timeout(1200)
def test_the_page_holds_word_by_word(tree: Path) -> None:
    assert "All checks passed!" in run(tree, "-m", "ruff", "check", "vtax/registry", FOLDER)
    run(tree, "-m", "ruff", "format", "--check", "vtax/registry", FOLDER)
    run(tree, "-m", "mypy", FOLDER)
    run(tree, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()")
    run(tree, "-c", VTAX, "run", "loop.yaml", "--out", "out")
    cells = json.loads(run(tree, "-c", VTAX, "show", "out", "--json"))["cells"]
    assert {cell["platform"] for cell in cells} == {"raw", "container"}
    assert all(cell["metrics"]["latency_mean_ns"]["value"] > 0 for cell in cells)
    run(tree, "-c", VTAX, "export", "out", "--format", "openmetrics", "--out", "metrics")
    assert 'cell="platform=container"' in (tree / "metrics").read_text()
