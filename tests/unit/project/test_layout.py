"""Where tests are, and what they may import."""

import ast
import re
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

TESTS = ROOT / "tests"
MARKERS = {
    "unit": set(),
    "system": {"system"},
    "cluster": {"system", "cluster"},
    "hosts": {"system", "hosts"},
}
"""Those of the markers that name a kind which each module of a folder carries."""
MIRRORED = {"unit", "system"}
BESIDE_VTAX = {"bench", "validation", "project", "snapshots"}


def modules() -> list[Path]:
    """The test modules, from the folder of tests on."""
    return sorted(path.relative_to(TESTS) for path in TESTS.rglob("test_*.py"))


def imports_of_tests(source: str) -> list[str]:
    """The modules of the tests that a module imports, but for helpers."""
    imported: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            imported += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imported.append("." * node.level + (node.module or ""))
    return [
        name
        for name in imported
        if name.partition(".")[0] in ("", "tests") and not f"{name}.".startswith("tests.helpers.")
    ]


def test_no_module_imports_another_test() -> None:
    found = {path: imports_of_tests(path.read_text()) for path in TESTS.rglob("*.py")}
    assert {str(path): names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from tests.unit.views.test_data import blocks", ["tests.unit.views.test_data"]),
        ("def late():\n    import tests.conftest", ["tests.conftest"]),
        ("from .test_data import blocks", [".test_data"]),
        ("from tests.helpers.paths import ROOT\nimport vtax.views", []),
    ],
)
def test_an_import_of_a_test_is_found_wherever_it_is(source: str, found: list[str]) -> None:
    assert imports_of_tests(source) == found


def test_the_example_of_how_to_run_one_test_names_some() -> None:
    (name,) = re.findall(r"make t K=(test_\w+)", (ROOT / "CONTRIBUTING.md").read_text())
    named = (path for path in modules() if name in path.stem or f"def {name}" in (TESTS / path).read_text())
    assert any(named), f"{name} is in no test's name"


def kinds_of(tree: ast.AST) -> set[str]:
    """The markers in some code that name a kind."""
    found = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value).endswith("mark")
    }
    return found & set().union(*MARKERS.values())


def misplaced(source: str, folder: str) -> str:
    """What a module's markers have against its folder."""
    if folder not in MARKERS:
        return f"it is in none of {', '.join(MARKERS)}"
    tree = ast.parse(source)
    carried: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "pytestmark":
            carried = kinds_of(statement.value)
    if missing := MARKERS[folder] - carried:
        return f"its pytestmark has no {', '.join(sorted(missing))}"
    if others := kinds_of(tree) - MARKERS[folder]:
        return f"it has {', '.join(sorted(others))}"
    return ""


def test_each_module_carries_its_folders_markers() -> None:
    found = {path: misplaced((TESTS / path).read_text(), path.parts[0]) for path in modules()}
    assert {str(path): problem for path, problem in found.items() if problem} == {}


@pytest.mark.parametrize(
    ("folder", "source", "problem"),
    [
        ("unit", "@pytest.mark.system\ndef test_x(): ...", "it has system"),
        ("unit", "class TestX:\n    pytestmark = [pytest.mark.hosts]", "it has hosts"),
        ("unit", "@pytest.mark.slow\ndef test_x(): ...", ""),
        ("system", "@pytest.mark.system\ndef test_x(): ...", "its pytestmark has no system"),
        ("system", "pytestmark = [pytest.mark.system, pytest.mark.hosts]", "it has hosts"),
        ("system", "pytestmark = pytest.mark.system", ""),
        ("cluster", "pytestmark = [pytest.mark.cluster]", "its pytestmark has no system"),
        ("hosts", "pytestmark = [pytest.mark.system, pytest.mark.hosts]", ""),
        ("test_x.py", "", "it is in none of unit, system, cluster, hosts"),
    ],
)
def test_a_marker_of_another_folder_is_found_wherever_it_is(folder: str, source: str, problem: str) -> None:
    assert misplaced(source, folder) == problem


def test_folders_mirror_what_is_tested() -> None:
    packages = {path.parent.name for path in (ROOT / "vtax").glob("*/__init__.py")}
    own_modules = {f"test_{path.stem}.py" for path in (ROOT / "vtax").glob("*.py")}
    strays = [
        str(path)
        for path in modules()
        if path.parts[0] in MIRRORED
        and path.parts[1] not in (own_modules if len(path.parts) == 2 else packages | BESIDE_VTAX)
    ]
    assert strays == []


def test_tests_that_measure_are_few_and_listed() -> None:
    marked = {
        (str(path.relative_to("system")), function.name)
        for path in modules()
        for function in ast.walk(ast.parse((TESTS / path).read_text()))
        if isinstance(function, ast.FunctionDef)
        and any("mark.measures" in ast.unparse(decorator) for decorator in function.decorator_list)
    }
    rows = re.findall(r"^\| `(\S+\.py)` \| (.*) \|$", (ROOT / "docs/testing.md").read_text(), re.MULTILINE)
    listed = {(module, name) for module, names in rows for name in re.findall(r"`(\w+)`", names)}
    assert marked == listed
    assert len(marked) <= 40
