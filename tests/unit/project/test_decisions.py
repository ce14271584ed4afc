"""docs/decisions: every record has one form, the index lists each once, and links lead somewhere."""

import datetime
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

FOLDER = ROOT / "docs" / "decisions"
INDEX = FOLDER / "README.md"
RECORDS = sorted(path for path in FOLDER.iterdir() if path != INDEX)
SECTIONS = ["Context", "Choice", "Alternatives", "Consequences"]
MOST_LINES = 60
LONGEST_LINE = 120

ROW = re.compile(r"\| \[(\d{4})\]\((.+)\) \| (.+) \| (.+) \| (.+) \|")
HEAD = re.compile(
    r"# (?P<number>\d{4}): (?P<title>\S.*\S)\n\n"
    r"Status: (?P<status>accepted|superseded by \d{4})\. Date: (?P<date>\d{4}-\d{2}-\d{2})\.\n\n"
)


def head(path: Path) -> dict[str, str]:
    """Return the number, title, status and date that the record states."""
    found = HEAD.match(path.read_text())
    assert found, f"{path.name}: title, status and date are not of the form in README.md"
    return found.groupdict()


def links(path: Path) -> list[str]:
    """Return the page's links to files, without anchors and code blocks."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S)
    return [target for target in re.findall(r"\]\(([^)#\s]+)", text) if not re.match(r"[a-z]+:", target)]


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.name)
def test_a_record_has_the_form(path: Path) -> None:
    number = head(path)["number"]
    assert re.fullmatch(rf"{number}-[a-z0-9]+(-[a-z0-9]+)*\.md", path.name)
    assert datetime.date.fromisoformat(head(path)["date"])
    _, *sections = re.split(r"^## ", path.read_text(), flags=re.M)
    assert [section.splitlines()[0] for section in sections] == SECTIONS
    assert all(section.split("\n", 1)[1].strip() for section in sections)


@pytest.mark.parametrize("path", [INDEX, *RECORDS], ids=lambda path: path.name)
def test_a_line_and_a_record_are_short(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert max(map(len, lines)) <= LONGEST_LINE
    assert path == INDEX or len(lines) <= MOST_LINES


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.name)
def test_a_superseded_record_names_a_later_one(path: Path) -> None:
    said = head(path)
    if said["status"] != "accepted":
        successor = said["status"].removeprefix("superseded by ")
        assert successor > said["number"]
        assert successor in {head(other)["number"] for other in RECORDS}


def test_numbers_are_unique_and_gaps_are_explained() -> None:
    numbers = [int(head(path)["number"]) for path in RECORDS]
    assert [number for number, times in Counter(numbers).items() if times > 1] == []
    unused = INDEX.read_text().split("## Unused numbers")[1].split("\n## ")[0]
    missing = [f"{n:04}" for low, high in pairwise(sorted(numbers)) for n in range(low + 1, high)]
    assert re.findall(r"^- (\d{4}): \S", unused, re.M) == missing


def test_the_index_lists_every_record_once() -> None:
    listed = [ROW.fullmatch(line) for line in INDEX.read_text().splitlines() if line.startswith("| [")]
    stated = [tuple(head(path).values()) for path in RECORDS]
    assert [(row[1], *row.groups()[2:]) if row else None for row in listed] == stated
    assert [row[2] if row else None for row in listed] == [path.name for path in RECORDS]


@pytest.mark.parametrize("path", [INDEX, *RECORDS], ids=lambda path: path.name)
def test_links_of_records_resolve(path: Path) -> None:
    assert [target for target in links(path) if not (path.parent / target).exists()] == []


def test_links_to_records_resolve() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    to_records = [(page, target) for page in pages for target in links(page) if "decisions/" in target]
    assert to_records
    assert [(page.name, target) for page, target in to_records if not (page.parent / target).exists()] == []
