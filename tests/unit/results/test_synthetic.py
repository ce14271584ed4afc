"""The builder of synthetic results leaves what a campaign leaves, and gives each test files of its own."""

from pathlib import Path

import pytest

from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import blocks
from tests.helpers.results.kinds import RESULTS
from vtax.results import Result, ResultWriter


def parts(directory: Path) -> dict[Path, bytes]:
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*.parquet")}


@pytest.mark.parametrize("kind", RESULTS)
def test_its_files_are_those_of_the_campaigns_writer(kind: str, tmp_path: Path) -> None:
    made = RESULTS[kind](tmp_path / "made")
    trials = sorted(RESULTS[kind].keywords["trials"], key=lambda trial: trial.block)
    with ResultWriter.create(tmp_path / "committed", made.campaign) as writer:
        for number, trial in enumerate(trials):
            writer.commit(trial.record(number))
    assert parts(made.directory) == parts(tmp_path / "committed")
    opened = Result.open(made.directory)
    assert (opened.campaign, opened.tables, opened.damaged) == (made.campaign, made.tables, [])


def test_what_is_done_to_one_is_not_done_to_its_like(tmp_path: Path) -> None:
    first = make(tmp_path / "first", blocks([100.0, 101.0]))
    for path in first.directory.rglob("*.parquet"):
        path.write_bytes(b"")
    first.campaign["scenario"].clear()
    second = make(tmp_path / "second", blocks([100.0, 101.0]))
    opened = Result.open(second.directory)
    assert (opened.campaign, opened.tables, opened.damaged) == (second.campaign, first.tables, [])
    assert second.campaign["scenario"]["title"] == "Handmade"
