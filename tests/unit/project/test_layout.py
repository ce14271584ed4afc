"""Where tests are, and what they may import."""

import ast

import pytest

from tests.helpers.paths import ROOT

TESTS = ROOT / "tests"


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
        if name.partition(".")[0] in ("", "tests") and not name.startswith("tests.helpers.")
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
