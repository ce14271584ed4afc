"""A result whose every text commands a terminal, through each command that reads results."""

import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.results.builder import make, of
from tests.helpers.results.forwarding import Made, blocks
from tests.helpers.transcripts import TERMINAL
from vtax.cli import main

LIE = "\x1b]52;c;bm8=\x07\x9b2J\u202e\x7f\x85\r\x1b[8m"
PLATFORM = f"qemu{LIE}"
STYLE = re.compile(r"\x1b\[[0-9;]*m")
DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}

QUERY = f'SELECT cell, platform AS "p{LIE}", reasons, [platform] AS nested FROM trials ORDER BY trial_id'  # noqa: S608
COMMANDS = {
    "show": ["show", "A"],
    "show of a damaged one": ["show", "DAMAGED"],
    "show --json": ["show", "A", "--json"],
    "diagnose": ["diagnose", "A"],
    "diagnose --json": ["diagnose", "A", "--json"],
    "sql": ["sql", "A", QUERY],
    "sql csv": ["sql", "A", QUERY, "--format", "csv"],
    "sql json": ["sql", "A", QUERY, "--format", "json"],
    "sql of no query": ["sql", "A", f"SELECT {LIE}"],
    "compare": ["compare", "A", "B"],
    "compare --markdown": ["compare", "A", "B", "--markdown"],
    "compare --json": ["compare", "A", "B", "--json"],
    "compare with rules": ["compare", "A", "B", "--fail-on", "throughput<-1%"],
    "claims": ["claims", "A"],
    "claims --markdown": ["claims", "A", "--markdown"],
    "claims --json": ["claims", "A", "--json"],
    "history": ["history", "."],
    "history --json": ["history", ".", "--json"],
    "export json": ["export", "A", "--format", "json"],
    "export openmetrics": ["export", "A", "--format", "openmetrics"],
    "export csv": ["export", "DAMAGED", "--format", "csv", "--out", f"csv{LIE}"],
    "report": ["report", "A"],
    "merge": ["merge", f"{LIE}=A", f"b{LIE}=B", "--out", f"merged{LIE}"],
    "no result": ["show", f"none{LIE}"],
    "run": ["run", f"scenario{LIE}"],
    "list": ["list", f"scenarios{LIE}"],
}


def hostile(directory: Path, slower: float, **campaign: Any) -> Path:
    """A campaign that repeats a paper's, whose every text commands a terminal."""
    trials = [
        *blocks([100.0, 100.0, 100.0]),
        *(
            Made(
                platform=PLATFORM,
                block=block,
                received_mbps=60.0 - slower,
                drops=((f"hop{LIE}", 0.4, f"full{LIE}"),),
                threads=(("host", f"thread{LIE}", 90.0, 5.0),),
                marks=(f"mark{LIE}",),
            )
            for block in range(3)
        ),
        Made(platform=PLATFORM, block=3, verdict="invalid", reasons=(f"guest said {LIE}",)),
    ]
    texts = {"title": f"title{LIE}", "question": f"question{LIE}?", "figures": [f"figure{LIE}"]}
    platforms = {
        "raw": {
            "title": f"t{LIE}",
            "kind": f"k{LIE}",
            "emulated": False,
            "skipped": None,
            "facts": {LIE: LIE},
        },
        PLATFORM: {"title": LIE, "kind": LIE, "emulated": False, "skipped": None, "facts": {LIE: [LIE]}},
        f"xen{LIE}": {"title": LIE, "kind": LIE, "emulated": False, "skipped": f"no xen{LIE}"},
    }
    make(
        directory,
        trials,
        scenario={**of("schlosser2011", "dedicated"), **texts},
        platforms=platforms,
        hosts={f"local{LIE}": {"kernel": LIE, "cpu_model": LIE}},
        testbed={"name": LIE},
        command=["vtax", LIE],
        vtax_version=f"0{LIE}",
        created_at="2026-01-01T00:00:00+00:00",
        **campaign,
    )
    return directory


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("hostile") / f"home{LIE}"
    home.mkdir()
    hostile(home / "A", 0.0)
    hostile(home / "B", 20.0, seed=8)
    damaged = hostile(home / "DAMAGED", 10.0, status=f"status{LIE}")
    next((damaged / "trials").glob("*.parquet"), damaged / "none").unlink(missing_ok=True)
    return home


def commands(text: str) -> set[str]:
    """The characters in a text that command a terminal."""
    return {
        char
        for char in text
        if (unicodedata.category(char) == "Cc" and char not in "\n\t")
        or unicodedata.bidirectional(char) in DIRECTIONS
    }


@pytest.mark.slow
@pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "terminal"])
@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_in_a_result_commands_the_terminal(
    name: str,
    terminal: bool,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(place)
    if terminal:
        for key, value in {**TERMINAL, "TERM": "xterm-256color", "NO_COLOR": ""}.items():
            monkeypatch.setenv(key, value)
    status = main(COMMANDS[name])
    printed = capsys.readouterr()
    assert status != 1, printed.err
    assert printed.out + printed.err
    shown = {text: STYLE.sub("", text) if terminal else text for text in printed}
    assert {text: commands(text) for text in shown.values() if commands(text)} == {}
    assert "\x1b[8m" not in printed.out + printed.err
    if printed.out.startswith(("{", "[")) and "--markdown" not in COMMANDS[name]:
        assert LIE in json.dumps(json.loads(printed.out), ensure_ascii=False) or "\\u007f" in printed.out
