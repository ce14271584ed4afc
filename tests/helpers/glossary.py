"""docs/glossary.md, and the pages that link its terms."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.helpers.paths import ROOT

GLOSSARY = ROOT / "docs" / "glossary.md"
PAGES = ("claims", "compare", "diagnose", "platforms", "report", "results", "scenario", "verdicts")
"""The pages that link a term of vtax where it is first used."""
TERMS = ("block", "ceiling", "cell", "mark", "trial", "verdict")
"""The terms that a reader of one page has to know and cannot guess."""

ENTRY = re.compile(
    r'^- <a id="(?P<anchor>[a-z0-9-]+)"></a>\*\*(?P<term>[^*]+)\*\*: (?P<meaning>.*(?:\n  .*)*)', re.M
)
LINK = re.compile(r"\[[^\]]*\]\([^)]*\)")


def sections() -> Mapping[str, list[re.Match[str]]]:
    """Return the entries of the glossary below each heading that has any."""
    below = re.split(r"^## ", GLOSSARY.read_text(), flags=re.M)[1:]
    found = {text.partition("\n")[0]: list(ENTRY.finditer(text)) for text in below}
    return {heading: entries for heading, entries in found.items() if entries}


def refused_names() -> set[str]:
    """Return the names that fields of documents do not have; the glossary has the others instead."""
    table = GLOSSARY.read_text().split("| in names not |")[1]
    return {
        name for row in re.findall(r"^\| (`[^|]*) \|", table, re.M) for name in re.findall(r"`(\w+)`", row)
    }


def unlinked(page: Path) -> Iterator[str]:
    """Return the terms that the prose of a page uses before it links them, or without."""
    text = prose(page.read_text())
    for term in TERMS:
        first = re.search(rf"\b{term}s?\b", LINK.sub(lambda link: hidden(link[0]), text), re.IGNORECASE)
        linked = re.search(rf"\[[^\]]*\]\(glossary\.md#{term}\)", text)
        if first and (linked is None or linked.start() > first.start()):
            yield term


def hidden(link: str) -> str:
    """Return as many blanks as the link has characters, so that places in the text stay."""
    return " " * len(link)


def prose(page: str) -> str:
    """Return the paragraphs and items of a page, without headings, code, tables and names of files and keys."""
    page = re.sub(r"^```.*?^```$", "", page, flags=re.M | re.S)
    lines = (line for line in page.splitlines() if not re.match(r"    |\||#|<!--", line))
    return re.sub(r"`[^`]*`", "", "\n".join(lines))
