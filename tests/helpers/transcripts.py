"""What a command prints, as text that depends on its arguments and on the files that it reads alone."""

import json
import re
import shlex
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from vtax.cli import main

TERMINAL = {
    "COLUMNS": "80",
    "NO_COLOR": "1",
    "TERM": "dumb",  # 80 columns, and neither bold nor dim text
    "TTY_COMPATIBLE": "1",  # a terminal: in a pipe tables are wider
    "TZ": "UTC",
}

CommandLine = Callable[..., str]
"""Runs `vtax` with the arguments and returns the transcript."""

LONG_NUMBER = re.compile(r"(?<![\w.:])\d+\.\d{6,}(?:e[-+]?\d+)?")
"""Seconds of a time of day are none."""

LONG, ROWS = 8, 3
"""Numbers or rows of a list that is shown whole, and of one that is not."""

SILENT = {"script", "style", "svg"}
CELLS = {"td", "th"}
LINES = {
    *("aside", "body", "caption", "dd", "details", "div", "dt", "fieldset", "figure", "h1", "h2", "h3", "h4"),
    *("header", "li", "main", "noscript", "p", "pre", "section", "summary", "table", "title", "tr"),
}


def transcript(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> str:
    """Run `vtax` and return its command line and output, then its errors and exit status where there are any.

    Blanks that fill a table's last column are left out.
    """
    status = main(list(arguments))
    printed = capsys.readouterr()
    text = f"$ {shlex.join(['vtax', *arguments])}\n{shortened(printed.out)}"
    if printed.err:
        text += f"--- stderr\n{printed.err}"
    if status:
        text += f"--- exit status {status}\n"
    return rounded("".join(f"{line.rstrip()}\n" for line in text.splitlines()))


def file_text(path: Path) -> str:
    """Return a file that a command wrote, below its name; of a page the text."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".csv":
        head, rows = text.splitlines()[: ROWS + 1], text.count("\n") - 1
        text = "\n".join(head) + f"\n... of {rows} rows\n"
    shown = page_text(text) if path.suffix == ".html" else rounded(text)
    return f"--- {path}\n{shown.rstrip()}\n"


def shortened(text: str) -> str:
    """Return a JSON document with the first items of long lists of numbers and of an export's long tables.

    Each such list ends in how many items it has. Whatever else there is stays as it is.
    """
    if not text.startswith("{"):
        return text
    try:
        document = json.loads(text, object_hook=_with_short_series)
    except ValueError:
        return text
    if "tables" in document and "campaign" in document:
        document["tables"] = {name: _first(rows) for name, rows in document["tables"].items()}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _with_short_series(found: dict[str, object]) -> dict[str, object]:
    return {
        name: _first(value)
        if isinstance(value, list) and all(isinstance(item, float | int | list) for item in value)
        else value
        for name, value in found.items()
    }


def _first(items: list[object]) -> list[object]:
    return items if len(items) <= LONG else [*items[:ROWS], f"... of {len(items)}"]


def rounded(text: str) -> str:
    """Return the text with nine digits of each long number: further ones depend on the CPU's instructions."""
    return LONG_NUMBER.sub(lambda number: f"{float(number[0]):.9g}", text)


def page_text(page: str) -> str:
    """Return headings, sentences and tables of an HTML page, a line each; a bar stands between cells."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.pieces).split("\n"))
    return "".join(f"{line.removesuffix(' |')}\n" for line in lines if line)


class _Reader(HTMLParser):
    """Keeps a page's text, without scripts, styles and drawings."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in SILENT
        if tag in LINES:
            self.pieces.append(f"\n{'#' * int(tag[1])} " if tag[0] == "h" and tag[1].isdigit() else "\n")

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in SILENT
        if tag in LINES:
            self.pieces.append("\n")
        elif tag in CELLS:
            self.pieces.append(" | ")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.pieces.append(re.sub(r"\s+", " ", data))
