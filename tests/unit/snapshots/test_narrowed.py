"""Results with the columns of their kind alone say the same as those that have the columns of all kinds."""

from pathlib import Path

import pytest

from tests.helpers.results.narrowed import narrow
from tests.helpers.results.recorded import KINDS, unpack
from vtax.cli import main
from vtax.results import Result
from vtax.results.schema import TRIALS, factor_columns

COMMANDS = (
    ["show", "A"],
    ["show", "A", "--json"],
    ["compare", "A", "B"],
    ["claims", "A"],
    ["diagnose", "A", "--json"],
    ["history", "A"],
    ["export", "A", "--format", "openmetrics"],
)

LACKING = (
    "written by an earlier vtax, without canary, flows.frames_unsent, flows.lateness_max_ns and 15 more: "
    "read as null or empty"
)
"""The results were recorded before there were these columns, and that table."""


def answers(place: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> list[tuple[int, str, str]]:
    names = {"A": str(place / kind), "B": str(place / f"{kind}-again")}
    found = []
    for command in COMMANDS:
        status = main([names.get(word, word) for word in command])
        found.append((status, *capsys.readouterr()))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_command_says_the_same(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unpack(kind, tmp_path)
    before = answers(tmp_path, kind, capsys)
    for name in (kind, f"{kind}-again"):
        narrow(tmp_path / name)
    assert answers(tmp_path, kind, capsys) == before
    assert {status for status, *_ in before} <= {0, 2, 3}


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_the_kind_records_is_there(kind: str, tmp_path: Path) -> None:
    unpack(kind, tmp_path)
    narrow(tmp_path / kind)
    result = Result.open(tmp_path / kind)
    assert (result.notes, result.damaged) == ([LACKING], [])
    shared = {column.name for column in (*TRIALS.columns, *factor_columns(result.campaign))}
    own = [name for name in result.tables["trials"].schema.names if name not in shared]
    assert own == [column["name"] for column in result.campaign["columns"]]
