"""What vtax prints commands no terminal, whoever wrote it, and its own styles still do."""

import ast
import io
import re
import sys
from pathlib import Path
from typing import TextIO, cast

import pytest
from rich.progress import BarColumn, Progress
from rich.table import Table
from rich.text import Text

from tests.helpers.paths import ROOT
from vtax.output import TerminalConsole, VisibleText, visible, visible_output
from vtax.text_table import TextTable

DIRECTIONS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
COMMANDS = [chr(code) for code in (*range(32), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"] + [*DIRECTIONS]
LIE = "before\x1b]52;c;bm8=\x07\x9b2J\u202eafter"
SHOWN = r"before\x1b]52;c;bm8=\x07\x9b2J\u202eafter"
STYLE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("command", COMMANDS, ids=repr)
def test_each_command_is_an_escape(command: str) -> None:
    assert visible(f"a{command}b") == f"a{repr(command)[1:-1]}b"
    assert visible(f"a{command}b").isprintable()


def test_lines_tabs_and_letters_stay() -> None:
    text = "±\t5 µs\nعربي 🚀 \ud800 \u200d"
    assert visible(text) == text


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_both_streams_show_escapes_by_each_way_of_writing(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = getattr(sys, name)
    with visible_output():
        stream = getattr(sys, name)
        print(LIE, file=stream)
        stream.write(f"{LIE}\n")
        stream.writelines([LIE, "\n"])
        assert getattr(stream, "buffer", None) is None
    assert getattr(sys, name) is given
    assert getattr(capsys.readouterr(), name[3:]) == f"{SHOWN}\n" * 3


def test_a_closed_stream_stays_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with visible_output():
        assert sys.stdout is None


def printed(*shown: object) -> str:
    """What a console on a terminal writes, through a stream that shows escapes."""
    stream = io.StringIO()
    console = TerminalConsole(
        cast(TextIO, VisibleText(stream)), is_terminal=True, width=60, color_system="standard"
    )
    for each in shown:
        console.print(each, markup=False, highlight=False)
    return stream.getvalue()


def test_text_in_whatever_rich_lays_out_has_escapes() -> None:
    table = Table(LIE, title=LIE, caption=LIE)
    table.add_row(LIE)
    table.add_row(Text(LIE, "bold"))
    text = printed(LIE, Text(LIE, "red"), Text.assemble(("subject", "bold"), LIE), table)
    assert not [command for command in COMMANDS if command in STYLE.sub("", text)]
    assert STYLE.sub("", text).count(SHOWN.replace(r"\x07", "")) >= 3  # rich itself leaves out five of C0


def test_styles_and_the_bar_are_richs_own() -> None:
    assert printed(Text("x", "bold red")) == "\x1b[1;31mx\x1b[0m\n"
    stream = io.StringIO()
    console = TerminalConsole(cast(TextIO, VisibleText(stream)), is_terminal=True, width=60)
    with Progress(BarColumn(), console=console, auto_refresh=False) as bar:
        bar.add_task(LIE, total=2)
        bar.refresh()
    assert "\x1b[?25l" in stream.getvalue()
    assert r"\x1b" not in stream.getvalue()


def test_a_table_gives_escapes_room(capsys: pytest.CaptureFixture[str]) -> None:
    TextTable(["a\x07", "b"], [False, False], [("", [[LIE, "next"]])]).print(TerminalConsole(sys.stdout), 60)
    head, row = capsys.readouterr().out.splitlines()
    assert head.index("b") == row.index("next") == len(SHOWN) + 2
    assert head.startswith(r"a\x07 ")


def test_nothing_goes_past_the_edge() -> None:
    """Each console is vtax's own, and no other module reaches the streams below the edge."""
    past = []
    for path in sorted((ROOT / "vtax").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case (
                    ast.Call(func=ast.Name(id="Console"))
                    | ast.Attribute(attr="__stdout__" | "__stderr__" | "styled")
                ):
                    past.append((path.relative_to(ROOT), node.lineno))
                case ast.Attribute(attr="buffer", value=ast.Attribute(attr="stdout" | "stderr")):
                    past.append((path.relative_to(ROOT), node.lineno))
    assert [place for place in past if place[0] != Path("vtax/output.py")] == []
