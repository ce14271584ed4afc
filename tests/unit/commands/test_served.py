"""Every command that reads results on a result of every kind of workload: it is served, or refused by name."""

import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.helpers.results.kinds import RESULTS, TRACED
from vtax.cli import app, main
from vtax.registry.keys import KINDS

Captured = pytest.CaptureFixture[str]
EVERY = set(RESULTS)
UNTRACED = EVERY - {TRACED}
COMMANDS: Mapping[str, tuple[Callable[[Path], list[str]], set[str]]] = {
    "show": (lambda result: ["show", f"{result}"], EVERY),
    "show --json": (lambda result: ["show", f"{result}", "--json"], EVERY),
    "report": (lambda result: ["report", f"{result}"], EVERY),
    "sql": (lambda result: ["sql", f"{result}", "SELECT platform, cell FROM trials"], EVERY),
    "export --format json": (lambda result: ["export", f"{result}", "--format", "json"], EVERY),
    "export --format csv": (
        lambda result: ["export", f"{result}", "--format", "csv", "--out", f"{result.parent / 'csv'}"],
        EVERY,
    ),
    "export --format openmetrics": (
        lambda result: ["export", f"{result}", "--format", "openmetrics"],
        UNTRACED,
    ),
    "compare": (lambda result: ["compare", f"{result}", f"{result.parent / 'other'}"], UNTRACED),
    "compare --by": (lambda result: ["compare", f"{result}", "--by", "platform=raw,container"], UNTRACED),
    "history": (lambda result: ["history", f"{result.parent}"], UNTRACED),
    "diagnose": (lambda result: ["diagnose", f"{result}"], UNTRACED),
    "claims": (lambda result: ["claims", f"{result}"], EVERY),
}
"""How each is called, and the kinds that it serves."""
CALLED = {
    "export --format openmetrics": "OpenMetrics export",
    "compare": "comparison",
    "compare --by": "comparison",
    "diagnose": "diagnosis",
}
NO_READERS = {"ab", "clean", "certificates", "doctor", "host", "list", "merge", "run", "schema", "trace"}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory a kind, with two results of it, `one` and `other`."""
    directory = tmp_path_factory.mktemp("kinds")
    for number, (kind, made) in enumerate(RESULTS.items()):
        for name, day in (("one", 1), ("other", 2)):
            result = made(directory / kind.replace(" ", "-") / name)
            _date(result.directory, f"2025-01-0{day}T{number:02}:00:00+00:00")
    return directory


def _date(directory: Path, created_at: str) -> None:
    path = directory / "campaign.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "created_at": created_at}))


def test_every_kind_and_every_command_is_asked_about() -> None:
    assert set(RESULTS) == {*KINDS, TRACED}
    registered = {
        command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands
    }
    assert {words.split()[0] for words in COMMANDS} == registered - NO_READERS


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", RESULTS)
def test_a_kind_is_served_or_refused_by_name(
    kind: str, command: str, results: Path, tmp_path: Path, capsys: Captured
) -> None:
    shutil.copytree(results / kind.replace(" ", "-"), tmp_path / "kind")
    one = tmp_path / "kind" / "one"
    words, served = COMMANDS[command]
    status = main(words(one))
    captured = capsys.readouterr()
    if kind in served:
        assert (status in {0, 3}, captured.err) == (True, "")
        shown = captured.out + "".join(path.read_text() for path in (tmp_path / "kind").glob("csv/*.csv"))
        shown += (one / "report.html").read_text() if command == "report" else ""
        page = tmp_path / "kind" / "history.html"
        shown += page.read_text() if page.exists() else ""
        measured = "8 not measured" if (kind, command) == ("program", "claims") else r"\b(raw|container)\b"
        assert re.search(measured, shown), "something of what was measured is there"
        return
    assert status == 2
    assert captured.out == ""
    assert f"{kind} results have no {CALLED.get(command, command)} yet" in captured.err
    assert str(one) in captured.err
    assert re.search(r"; (see its tables with: vtax show \S+|use --format json)", captured.err)
    assert not (tmp_path / "kind" / "history.html").exists()


def test_an_export_that_is_refused_leaves_no_file(results: Path, tmp_path: Path) -> None:
    out, traced = tmp_path / "metrics", results / TRACED.replace(" ", "-") / "one"
    assert main(["export", f"{traced}", "--format", "openmetrics", "--out", f"{out}"]) == 2
    assert not out.exists()


def test_among_others_a_kind_without_history_is_left_out_by_name(
    results: Path, tmp_path: Path, capsys: Captured
) -> None:
    for kind in ("forwarding", "requests", TRACED.replace(" ", "-")):
        shutil.copytree(results / kind, tmp_path / kind)
    assert main(["history", f"{tmp_path}"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "schlosser2011/dedicated: 2 campaigns" in printed
    assert printed.count(f"{TRACED} results have no history yet") == 2


@pytest.mark.parametrize("kind", RESULTS)
def test_only_what_has_the_symbols_is_explained_by_their_table(
    kind: str, results: Path, capsys: Captured
) -> None:
    assert main(["show", f"{results / kind.replace(' ', '-') / 'one'}"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert ("Symbols as in anhalt2009, Table I" in printed) == ("R aggregate" in printed) == (kind == "bulk")
