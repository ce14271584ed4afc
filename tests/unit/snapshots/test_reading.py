"""Each command that reads results, for a result of each kind of workload; where one refuses a kind, its refusal."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.helpers.transcripts import CommandLine, file_text

ROWS = (
    "SELECT cell, verdict, sum(frames_received) AS frames, sum(transactions) AS answers, "
    "round(avg(goodput_mbps), 1) AS goodput_mbps FROM trials LEFT JOIN flows USING (trial_id) GROUP BY ALL ORDER BY ALL"
)

RULES = {
    "forwarding": "throughput<-5%,latency_p99>+10%",
    "bulk": "goodput<-5%",
    "echo": "response_time>+10%",
    "requests": "latency_p50>+10%",
}
"""Rules on what a kind measures."""

two_forms = pytest.mark.parametrize("form", [[], ["--json"]], ids=["terminal", "json"])
three_forms = pytest.mark.parametrize(
    "form", [[], ["--markdown"], ["--json"]], ids=["terminal", "markdown", "json"]
)


@two_forms
def test_show(kind: str, form: list[str], command_line: CommandLine, snapshot: SnapshotAssertion) -> None:
    assert command_line("show", kind, *form) == snapshot


@two_forms
def test_diagnose(kind: str, form: list[str], command_line: CommandLine, snapshot: SnapshotAssertion) -> None:
    assert command_line("diagnose", kind, *form) == snapshot


@three_forms
def test_claims(kind: str, form: list[str], command_line: CommandLine, snapshot: SnapshotAssertion) -> None:
    assert command_line("claims", kind, *form) == snapshot


@three_forms
def test_compare(kind: str, form: list[str], command_line: CommandLine, snapshot: SnapshotAssertion) -> None:
    assert command_line("compare", kind, f"{kind}-again", *form) == snapshot


def test_compare_by_rules(kind: str, command_line: CommandLine, snapshot: SnapshotAssertion) -> None:
    """With the file for a build server."""
    rules = RULES.get(kind, "loss>+1pp")
    text = command_line("compare", kind, f"{kind}-again", "--fail-on", rules, "--junit", "compare.xml")
    assert text + "".join(map(file_text, Path().glob("compare.xml"))) == snapshot


def test_compare_with_itself(kind: str, command_line: CommandLine, snapshot: SnapshotAssertion) -> None:
    assert command_line("compare", kind, kind) == snapshot


def test_history(kind: str, command_line: CommandLine, snapshot: SnapshotAssertion) -> None:
    text = command_line("history", ".")
    assert text + "".join(map(file_text, Path().glob("history.html"))) == snapshot


def test_history_json(kind: str, command_line: CommandLine, snapshot: SnapshotAssertion) -> None:
    assert command_line("history", ".", "--json") == snapshot


@pytest.mark.parametrize("form", ["json", "openmetrics"])
def test_export(kind: str, form: str, command_line: CommandLine, snapshot: SnapshotAssertion) -> None:
    assert command_line("export", kind, "--format", form) == snapshot


def test_export_csv(kind: str, command_line: CommandLine, snapshot: SnapshotAssertion) -> None:
    text = command_line("export", kind, "--format", "csv", "--out", "csv")
    assert text + "".join(map(file_text, sorted(Path("csv").iterdir()))) == snapshot


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_sql(kind: str, form: str, command_line: CommandLine, snapshot: SnapshotAssertion) -> None:
    assert command_line("sql", kind, ROWS, "--format", form) == snapshot


def test_report(kind: str, command_line: CommandLine, snapshot: SnapshotAssertion) -> None:
    text = command_line("report", kind, ".")
    assert text + file_text(Path("report.html")) == snapshot
