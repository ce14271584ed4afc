"""The pages on adding a scenario, a metric and a table: carried out word for word on a copy of the source."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT
from tests.helpers.results.recorded import unpack

pytestmark = pytest.mark.slow


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of vtax's own source."""
    left_out = shutil.ignore_patterns("__pycache__", "bin")
    shutil.copytree(ROOT / "vtax", tmp_path / "tree/vtax", ignore=left_out)
    return tmp_path / "tree"


def blocks(page: str, language: str) -> list[str]:
    """The code of a page in some language."""
    found = re.findall(rf"```{language}\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)
    assert found
    return found


def follow(page: str, tree: Path) -> None:
    """Make the changes of a page."""
    for change in blocks(page, "diff"):
        done = subprocess.run(
            ["git", "apply", "-"], input=change, cwd=tree, check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


def vtax(tree: Path, *arguments: str | Path) -> str:
    """What the vtax of a tree prints."""
    done = subprocess.run(
        [sys.executable, "-m", "vtax", *arguments], cwd=tree, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def results(tmp_path: Path) -> tuple[Path, Path]:
    """Two results of requests."""
    unpack("requests", tmp_path)
    return tmp_path / "requests", tmp_path / "requests-again"


def test_a_scenario(tree: Path) -> None:
    (scenario,) = blocks("adding-a-scenario.md", "yaml")
    path, content = re.fullmatch(r"# (\S+)\n(.*)", scenario, re.DOTALL).groups()  # type: ignore[union-attr]
    (tree / path).write_text(content)
    (line,) = re.findall(r"^\s*examples/extremes .*", vtax(tree, "list", "scenarios"), re.MULTILINE)
    assert "12" in line and "60" in line


def test_a_metric(tree: Path, results: tuple[Path, Path]) -> None:
    follow("adding-a-metric.md", tree)
    cells = json.loads(vtax(tree, "show", results[0], "--json"))["cells"]
    assert all(cell["metrics"]["latency_min_ns"]["value"] > 0 for cell in cells)
    changes = json.loads(vtax(tree, "compare", *results, "--json"))["changes"]
    assert any(change["metric"] == "shortest_response" for change in changes)
    assert "shortest_response" in vtax(tree, "history", results[0].parent, "--json")
    assert "shortest" in vtax(tree, "export", results[0], "--format", "openmetrics")


def test_a_table(tree: Path, results: tuple[Path, Path]) -> None:
    follow("adding-a-table.md", tree)
    assert "\nSlow responses\n" in vtax(tree, "show", results[0])
    vtax(tree, "report", results[0], tree / "page")
    assert "Slow responses" in (tree / "page/report.html").read_text()
