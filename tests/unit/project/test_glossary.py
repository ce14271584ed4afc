"""docs/glossary.md: one line or two a term, sorted, with sources, and linked where a page first uses a term."""

import json
import re
from pathlib import Path

import pytest

from tests.helpers.glossary import GLOSSARY, PAGES, TERMS, refused_names, sections, unlinked
from tests.helpers.paths import ROOT
from tests.helpers.words import offences
from vtax.documents.schema import DOCUMENTS, document_schema
from vtax.registry.keys import KINDS
from vtax.results.schema import TABLES

LONGEST_LINE = 120
FIELD = "Terms of the field"
SHORT_PAGES = [GLOSSARY, ROOT / "docs" / "documents.md"]
LINKS = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")


def anchors(page: Path) -> set[str]:
    """The places of a page that a link can name."""
    text = page.read_text()
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    named = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return named | set(re.findall(r'<a id="([^"]+)"></a>', text))


@pytest.mark.parametrize("page", SHORT_PAGES, ids=lambda page: page.name)
def test_lines_are_short(page: Path) -> None:
    assert max(map(len, page.read_text().splitlines())) <= LONGEST_LINE


def test_each_line_of_a_list_is_an_entry() -> None:
    text = GLOSSARY.read_text()
    assert text.count("\n- ") == sum(map(len, sections().values()))


@pytest.mark.parametrize("heading", sections())
def test_terms_are_sorted_and_have_two_lines_at_most(heading: str) -> None:
    entries = sections()[heading]
    terms = [entry["term"] for entry in entries]
    assert terms == sorted(terms, key=str.lower)
    assert [entry["term"] for entry in entries if entry[0].count("\n") > 1] == []
    assert [entry["term"] for entry in entries if entry["anchor"] != anchor(entry["term"])] == []


def test_terms_are_unique() -> None:
    names = [
        name for entries in sections().values() for entry in entries for name in entry["term"].split(", ")
    ]
    assert sorted(names) == sorted(set(names))
    assert set(TERMS) <= set(names)


def test_terms_of_the_field_have_a_source() -> None:
    source = re.compile(r"RFC \d|IEEE|Linux|QEMU|OASIS|FD\.io|HdrHistogram|theory|(19|20)\d\d\b")
    meanings = {entry["term"]: " ".join(entry["meaning"].split()) for entry in sections()[FIELD]}
    assert {term: text for term, text in meanings.items() if not source.search(text)} == {}


def test_entries_follow_the_rules_of_words() -> None:
    texts = {
        entry["term"]: re.sub(r"\]\([^)]*\)|[`\[]", "", " ".join(entry["meaning"].split()))
        for entries in sections().values()
        for entry in entries
    }
    found = {term: list(offences(text)) for term, text in texts.items()}
    assert {term: problems for term, problems in found.items() if problems} == {}


def columns() -> set[str]:
    """The names of all columns, those of each kind of workload among them."""
    of_tables = (table.columns for table in TABLES.values())
    of_kinds = (keys.columns() for keys in KINDS.values())
    return {column.name for each in (*of_tables, *of_kinds) for column in each}


def test_no_column_but_an_old_one_has_a_refused_name() -> None:
    assert columns() & refused_names() == {"way"}
    assert {"remedy", "what", "where", "why"} <= refused_names()


def test_names_in_code_are_columns_factors_or_kinds() -> None:
    """A column or a field of a document that is renamed, or gone, is found here."""
    schemas = json.dumps([document_schema(name) for name in DOCUMENTS])
    fields = set(re.findall(r'"(\w+)": \{"', schemas))
    entries = [entry for found in sections().values() for entry in found]
    named = {name for entry in entries for name in re.findall(r"`([a-z]+(?:_[a-z0-9]+)+)`", entry["meaning"])}
    assert named - columns() - fields == {"af_xdp"}
    assert set(KINDS) <= set(re.findall(r"`(\w+)`", GLOSSARY.read_text()))


@pytest.mark.parametrize(
    "page", [*SHORT_PAGES, *(ROOT / "docs" / f"{name}.md" for name in PAGES)], ids=lambda page: page.stem
)
def test_links_between_pages_resolve(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    broken = []
    for target, place in LINKS.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        other = page if not target else page.parent / target
        if not other.exists() or (place and other.suffix == ".md" and place not in anchors(other)):
            broken.append(f"{target}#{place}")
    assert broken == []


@pytest.mark.parametrize("page", PAGES)
def test_a_page_links_a_term_where_it_first_uses_it(page: str) -> None:
    assert list(unlinked(ROOT / "docs" / f"{page}.md")) == []


def test_a_term_without_a_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Cells\n\n`cell`, then a cell, then [cells](glossary.md#cell) and [trials](glossary.md#trial).\n"
    )
    assert list(unlinked(page)) == ["cell"]


def anchor(term: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", term.lower()).strip("-")
