"""docs/security.md: each test that it names is there."""

import ast
import re
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT
from vtax.agent_api import LONGEST_LINE_BYTES
from vtax.agent_message import CALL_TIMEOUT_S
from vtax.cluster.certificates import VALID_FOR
from vtax.machine.series import SERIES_LIMIT_S
from vtax.platforms.console import MOST_BYTES
from vtax.platforms.package import KEEP
from vtax.results import bounds
from vtax.scenario.scenario import MOST_FILE_BYTES
from vtax.testbed.remote.server import SILENCE_LIMIT_S

NAMED = re.compile(r"`((?:tests|agent)/[\w./-]+)::([\w:]+)`")
PAGE = ROOT / "docs/security.md"


def there_is(path: Path, name: str) -> bool:
    """Whether a file has a test of that name; a class stands before its tests' names in Python."""
    if not path.is_file():
        return False
    if path.suffix == ".rs":
        return re.search(rf"#\[test\]\n(?:\s*#\[.*\]\n)*\s*fn {name}\(", path.read_text()) is not None
    body = ast.parse(path.read_text()).body
    *classes, function = name.split("::")
    for each in classes:
        found = [node for node in body if isinstance(node, ast.ClassDef) and node.name == each]
        body = found[0].body if found else []
    return any(isinstance(node, ast.FunctionDef) and node.name == function for node in body)


def shown_by(page: str) -> list[tuple[str, str]]:
    """The rows of the page's last table: what holds, and the tests."""
    return re.findall(r"^\| ([^|]+) \| (`(?:tests|agent)/[^|]+) \|$", page, re.MULTILINE)


def test_every_test_that_the_page_names_is_there() -> None:
    named = NAMED.findall(PAGE.read_text())
    assert named
    assert [f"{path}::{name}" for path, name in named if not there_is(ROOT / path, name)] == []


def test_every_row_names_tests() -> None:
    page = PAGE.read_text()
    rows = shown_by(page)
    assert len(rows) == page.split("## Shown by")[1].count("\n| ") - 1
    for what, tests in rows:
        assert NAMED.sub("", tests).strip(", ") == "", what


NAMES = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}


@pytest.mark.parametrize(
    "said",
    [
        f"read, up to {MOST_FILE_BYTES / 2**20:g} MiB each",
        f"Lines are bounded at {LONGEST_LINE_BYTES / 2**10:g} KiB",
        f"a deadline of its own ({SERIES_LIMIT_S:g} s)",
        f"An agent that reads nothing for {CALL_TIMEOUT_S:g} s is given up",
        "the last mebibyte is kept and read" if MOST_BYTES == 2**20 else f"{MOST_BYTES} B",
        "nothing was heard for a minute" if SILENCE_LIMIT_S == 60 else f"{SILENCE_LIMIT_S:g} s",
        f"the {NAMES[KEEP]} trees that were used last are kept",
        f"They expire after {VALID_FOR.days} days",
        f"| `campaign.json` | {bounds.MANIFEST_BYTES / 2**20:g} MiB, {bounds.MANIFEST_LEVELS} levels |",
        f"| `journal` | {bounds.JOURNAL_BYTES / 2**20:g} MiB |",
        f"| files of a table | {bounds.PARTS:,} |",
        f"| a Parquet file | {bounds.PART_BYTES / 2**30:g} GiB, {bounds.PART_ROWS:,} rows |",
    ],
)
def test_a_bound_is_that_of_the_code(said: str) -> None:
    assert said in " ".join(PAGE.read_text().split())


@pytest.mark.parametrize(
    ("path", "name", "there"),
    [
        ("tests/unit/project/test_security_docs.py", "test_every_row_names_tests", True),
        ("tests/unit/project/test_security_docs.py", "shown", False),
        ("tests/unit/campaign/test_resume.py", "TestHands::test_anothers_result_is_refused", True),
        ("tests/unit/campaign/test_resume.py", "test_anothers_result_is_refused", False),
        ("tests/unit/campaign/test_resume.py", "TestNothing::test_anothers_result_is_refused", False),
        ("agent/tests/agent/protocol.rs", "a_lost_peer_ends_the_agent", True),
        ("agent/tests/agent/protocol.rs", "a_lost_peer", False),
        ("tests/nowhere.py", "test_x", False),
    ],
)
def test_a_test_that_is_not_there_is_found(path: str, name: str, there: bool) -> None:
    assert there_is(ROOT / path, name) is there
