"""The command line and the recorded results, for snapshots."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from tests.helpers.results.recorded import KINDS, unpack
from tests.helpers.transcripts import TERMINAL, CommandLine, transcript


class TextFile(SingleFileSnapshotExtension):
    """A snapshot is a text file of its own."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.fixture
def snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(TextFile)


@pytest.fixture
def command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[CommandLine]:
    """Runs in a directory of the test's own, at a terminal of 80 columns."""
    with monkeypatch.context() as patch:
        for name, value in TERMINAL.items():
            patch.setenv(name, value)
        time.tzset()
        patch.chdir(tmp_path)
        yield lambda *arguments: transcript(arguments, capsys)
    time.tzset()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A kind of workload, with its two campaigns in the test's directory: KIND and KIND-again."""
    name: str = request.param
    unpack(name, tmp_path)
    return name
