"""What is declared in one place is taken out in one place: kinds of workload and platforms, in a copy of the tree.

A kind goes with its folder, its lines in the registries, its scenarios and the claims about these; a platform with its
file and its preset. Tests of either go with it, and what is generated or a snapshot is made anew.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import grimp
import pytest
import yaml

from tests.helpers.paths import ROOT
from vtax.scenario.load import CLAIMS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

KINDS, PLATFORMS = ("relay", "echo"), ("gvisor", "uml")
REGISTRIES = ("vtax/registry", "tests/helpers/results/kinds.py")
GENERATED = ("vtax/agent_api.py",)
"""The contract: an agent that has a method, which nobody calls any more, still answers it."""
OF_DOCS = (
    "tests/unit/project/test_layout.py::test_tests_that_measure_are_few_and_listed",
    "tests/unit/project/test_platform_docs.py::test_every_preset_is_in_the_table_of_what_was_run",
    "tests/unit/project/test_security_docs.py::test_every_test_that_the_page_names_is_there",
    "tests/unit/results/test_docs.py::test_docs_hold_the_tables",
    "tests/unit/views/test_claims_files.py::test_every_paper_has_its_claims",
    "tests/unit/views/test_claims_files.py::test_docs_hold_the_claims",
)
"""What docs and papers say of kinds and platforms is prose, which is taken out by hand."""
FILES = ("damage", "hostile", "journal", "merge")
NUMBERS = (
    "bounds",
    "compare_bounds",
    "compare_conditions",
    "compare_earlier",
    "compare_rules",
    "data",
    "diagnosis",
    "history",
)
OF_NEITHER = (
    *(f"tests/unit/results/test_{name}.py" for name in FILES),
    *(f"tests/unit/views/test_{name}.py" for name in NUMBERS),
)
"""Tests that take long and are about numbers and files, whatever measured them."""
OF_PROGRAMS = ("tests.unit.commands", "tests.unit.project")
"""Packages whose tests start vtax or read the tree: what they import does not tell what they are about."""
TYPES = ".mypy_cache"
"""What is known of types, which is true of what stays."""
CODE = (".py", ".rs", ".c", ".h", ".yaml")
SNAPSHOTS = "tests/unit/snapshots"
CHECKS = (
    ("-m", "ruff", "check"),
    ("-m", "mypy"),
    ("-c", "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"),
    ("-m", "pytest", "-q", "--snapshot-update", SNAPSHOTS),
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of all that git knows or would take."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
        cwd=ROOT,
    )
    for name in filter(None, os.fsdecode(listed.stdout).split("\0")):
        if (ROOT / name).is_file():
            (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tmp_path / "tree" / name)
    if (ROOT / TYPES).is_dir():
        shutil.copytree(ROOT / TYPES, tmp_path / "tree" / TYPES)
    return tmp_path / "tree"


def whom_it_concerns() -> list[str]:
    """Return how to import every test, and run the fast ones that could tell that something is gone.

    In one process: workers would import all of them once more each.
    """
    left_out = (*OF_DOCS, *OF_NEITHER, SNAPSHOTS, *beyond_reach())
    return [
        *("-m", "pytest", "-q", "-m", "not system and not slow"),
        *(f"--deselect={test}" for test in left_out),
    ]


def beyond_reach() -> list[str]:
    """Return the files of tests that import, directly or not, nothing of what is taken out and no registry."""
    graph = grimp.build_graph("vtax", "tests", cache_dir=None)
    taken = [
        *(f"vtax.workloads.{kind}" for kind in KINDS),
        *(f"vtax.platforms.{platform}" for platform in PLATFORMS),
        *(registry.removesuffix(".py").replace("/", ".") for registry in REGISTRIES),
    ]
    changed = {
        module for module in graph.modules if any(f"{module}.".startswith(f"{name}.") for name in taken)
    }
    reached = set().union(*map(graph.find_downstream_modules, changed))
    tests = (
        module
        for module in graph.modules - reached
        if re.match(r"tests\.unit\..*\btest_\w+$", module) and not module.startswith(OF_PROGRAMS)
    )
    return [f"{module.replace('.', '/')}.py" for module in sorted(tests)]


def remove(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def remove_tests(tree: Path, name: str) -> None:
    """Remove folders and files of that name, and the snapshots with it as a parameter."""
    tests = tree / "tests"
    found = [
        path
        for path in tests.rglob("*")
        if path.name == name or re.match(rf"(test_)?{name}\.", path.name) or f"[{name}" in path.name
    ]
    remove(path for path in found if path.exists())


def remove_kind(tree: Path, kind: str) -> None:
    """Take out a kind with its scenarios and the claims about any of them."""
    remove([tree / "vtax/workloads" / kind])
    remove_tests(tree, kind)
    for registry in REGISTRIES:
        files = (tree / registry).rglob("*.py") if (tree / registry).is_dir() else [tree / registry]
        for path in files:
            drop_lines(path, kind)
    for paper in (tree / "vtax/data/scenarios").iterdir():
        if not paper.is_dir():
            continue
        scenarios = {path.stem: path for path in paper.glob("*.yaml") if path.name != CLAIMS}
        taken = {name: path for name, path in scenarios.items() if kind_of(path) == kind}
        remove(taken.values())
        if taken and (paper / CLAIMS).exists():
            drop_claims(paper / CLAIMS, taken)


def kind_of(scenario: Path) -> str:
    kind: str = yaml.safe_load(scenario.read_text())["workload"]["kind"]
    return kind


def drop_lines(path: Path, kind: str) -> None:
    """A line of a registry is a line; where a union or a tuple stands on one, its member goes."""
    kept = []
    for line in path.read_text().splitlines(keepends=True):
        if re.match(rf'from .*\b{kind}\b.* import|    "{kind}": ', line):
            continue
        kept.append(re.sub(rf" \| {kind.title()}\b|, {kind.upper()}\b", "", line))
    path.write_text("".join(kept))


def drop_claims(path: Path, scenarios: Iterable[str]) -> None:
    """Each claim begins at the left margin, behind an empty line; a file without any goes."""
    kept = []
    for claim in re.split(r"\n(?=\S)", path.read_text()):
        claims = yaml.safe_load(claim) or {}  # a comment has none
        if not any(set(about["scenarios"]) & set(scenarios) for about in claims.values()):
            kept.append(claim)
    if kept:
        path.write_text("\n".join(kept))
    else:
        path.unlink()


def remove_platform(tree: Path, platform: str) -> None:
    """Take out a platform, also from scenarios that measure others too."""
    for scenario in (tree / "vtax/data/scenarios").rglob("*.yaml"):
        scenario.write_text(re.sub(rf"(?m)^(  platform: \[.*?){platform}, ", r"\1", scenario.read_text()))
    remove([tree / f"vtax/platforms/{platform}.py", tree / f"vtax/data/platforms/{platform}.yaml"])
    remove_tests(tree, platform)


def mentions(tree: Path, names: Iterable[str], *where: str) -> list[str]:
    """Return the lines of these folders' code and data that name what is gone."""
    words = (rf"['\"]{name}['\"]|\b(workloads|platforms)\.{name}\b|\b{name.title()}\b" for name in names)
    word = re.compile("|".join(words))
    files = (path for folder in where for path in sorted((tree / folder).rglob("*.*")))
    return [
        f"{path.relative_to(tree)}: {line}"
        for path in files
        if path.suffix in CODE and f"{path.relative_to(tree)}" not in GENERATED
        for line in path.read_text().splitlines()
        if word.search(line)
    ]


def test_nobody_misses_what_is_taken_out(tree: Path) -> None:
    for kind in KINDS:
        remove_kind(tree, kind)
    for platform in PLATFORMS:
        remove_platform(tree, platform)
    assert mentions(tree, (*KINDS, *PLATFORMS), "vtax") == []
    assert mentions(tree, PLATFORMS, "agent/src", "agent/bpf") == []
    outer = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment = {**outer, "PYTHONPATH": str(tree)}
    for check in (*CHECKS, whom_it_concerns()):
        done = subprocess.run(
            [sys.executable, *check], cwd=tree, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{' '.join(check)}\n{done.stdout[-4000:]}{done.stderr[-1000:]}"
