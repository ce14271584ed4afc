"""A journal that somebody forged, or that is half written: nobody undoes it, and the result is read all the same."""

import json
import os
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import copy, copytree

import pytest

import vtax
from tests.helpers.results.stored import CAMPAIGN, ids, record
from tests.helpers.results.synthetic import make_result
from vtax.cli import main
from vtax.results import Result, ResultWriter
from vtax.results.journal import NAME, SIDE_FILES, UnsettledJournalError, read_journal, read_numbers

MAGIC = bytes.fromhex("d9d505f920a163d7")
SECTOR, LOCK_BYTE = 512, 0x40000000
"""Of the format of SQLite's rollback journals (https://www.sqlite.org/fileformat2.html, section 3)."""


def forged(database: Path, victim: Path) -> bytes:
    """A rollback journal without pages that names `victim` as its super-journal, which SQLite removes in the end."""
    with database.open("rb") as file:
        header = file.read(100)
    (page,), (pages,) = struct.unpack(">H", header[16:18]), struct.unpack(">I", header[28:32])
    name = str(victim).encode()
    begin = MAGIC + struct.pack(">5I", 0, 0, pages, SECTOR, page)
    end = struct.pack(">I", LOCK_BYTE // page + 1) + name + struct.pack(">II", len(name), sum(name)) + MAGIC
    return begin.ljust(SECTOR, b"\0") + end


def made(directory: Path, seed: int) -> Path:
    """A small result of a scenario that has claims, as a campaign writes it."""
    few = {"platforms": ("raw", "container"), "streams": (1,), "frame_bytes": (64,), "loads": (100.0, None)}
    make_result(directory, repetitions=3, seed=seed, **few)
    manifest = json.loads((directory / "campaign.json").read_text())
    manifest["scenario"]["source"] = {"paper": "schlosser2011", "section": "4"}
    manifest["factors"] = list(manifest["scenario"]["factors"])
    (directory / "campaign.json").write_text(json.dumps(manifest))
    return directory


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("results") / "result", 1)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("results") / "other", 2)


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "victim"
    path.write_text("kept\n")
    return path


@pytest.fixture
def result(synthetic: Path, victim: Path, tmp_path: Path) -> Path:
    directory = copytree(synthetic, tmp_path / "result")
    (directory / f"{NAME}-journal").write_bytes(forged(directory / NAME, victim))
    return directory


def test_the_forgery_is_one(result: Path, victim: Path) -> None:
    """Whoever opens it as SQLite would loses the file."""
    with sqlite3.connect(result / NAME) as database:
        assert database.execute("SELECT count(*) FROM trials").fetchone()[0]
    assert not victim.exists()


READERS: dict[str, Callable[[Path, Path], object]] = {  # of the result and of another
    "show": lambda result, _: main(["show", str(result)]),
    "show --json": lambda result, _: main(["show", str(result), "--json"]),
    "sql": lambda result, _: main(["sql", str(result), "SELECT count(*) FROM trials"]),
    "report": lambda result, _: main(["report", str(result)]),
    "diagnose": lambda result, _: main(["diagnose", str(result)]),
    "history": lambda result, _: main(["history", str(result.parent)]),
    "export": lambda result, _: main(["export", str(result), "--format", "json", "--out", f"{result}.json"]),
    "compare": lambda result, other: main(["compare", str(other), str(result)]),
    "claims": lambda result, _: main(["claims", str(result)]),
    "merge": lambda result, _: main(["merge", f"a={result}", "--out", f"{result}.merged"]),
    "load": lambda result, _: 0 if len(vtax.load(str(result))["trials"]) else 1,
}


@pytest.mark.parametrize("reader", READERS)
def test_no_reader_undoes_a_journal(reader: str, result: Path, victim: Path, other: Path) -> None:
    before = {path: path.read_bytes() for path in result.glob(f"{NAME}*")}
    assert READERS[reader](result, other) == 0
    assert victim.read_text() == "kept\n"
    assert {path: path.read_bytes() for path in result.glob(f"{NAME}*")} == before


def test_a_half_written_journal_is_not_taken_for_a_whole_one(result: Path, synthetic: Path) -> None:
    for read in (read_journal, read_numbers):
        with pytest.raises(UnsettledJournalError, match=f"{NAME}-journal: a campaign was killed"):
            read(result)
    opened = Result.open(result)
    assert (opened.damaged, opened.notes) == ([], [])
    assert opened.tables == Result.open(synthetic).tables


@pytest.mark.parametrize("suffix", SIDE_FILES)
def test_a_link_beside_it_leads_nowhere(suffix: str, synthetic: Path, victim: Path, tmp_path: Path) -> None:
    directory = copytree(synthetic, tmp_path / "linked")
    (directory / f"{NAME}{suffix}").symlink_to(victim)
    assert Result.open(directory).tables == Result.open(synthetic).tables
    ResultWriter.resume(directory).close()
    assert victim.read_text() == "kept\n"


def test_a_writer_undoes_no_journal_but_writes_a_new_one(result: Path, synthetic: Path, victim: Path) -> None:
    with ResultWriter.resume(result) as writer:
        assert writer.repaired == []
        trials = writer.committed
    assert victim.read_text() == "kept\n"
    assert {entry.trial_id for entry in read_journal(result)} == trials
    assert sorted(read_journal(result)) == sorted(read_journal(synthetic))
    assert {path.name for path in result.glob(f"{NAME}*")} == {
        *(NAME, f"{NAME}.damaged", f"{NAME}-journal.damaged")
    }


def test_a_campaign_killed_as_it_commits_is_read_and_goes_on(tmp_path: Path) -> None:
    """Its journal has a row too many, or too few, and what SQLite would undo it by."""
    directory = tmp_path / "killed"
    with ResultWriter.create(directory, CAMPAIGN) as writer:
        for number in range(3):
            writer.commit(record(number))
    aside = tmp_path / "aside"
    aside.mkdir()
    with sqlite3.connect(directory / NAME, isolation_level=None) as database:
        database.execute("PRAGMA cache_spill = 1")
        database.execute("PRAGMA cache_size = 1")
        database.execute("BEGIN")
        database.execute("DELETE FROM trials")
        rows = ((number, 0, '{"trials": 1}') for number in range(100, 2000))
        database.executemany("INSERT INTO trials (trial_id, block, rows) VALUES (?, ?, ?)", rows)
        for path in directory.glob(f"{NAME}*"):
            copy(path, aside)
        database.execute("ROLLBACK")
    for path in aside.iterdir():
        path.replace(directory / path.name)
    assert (directory / f"{NAME}-journal").stat().st_size > SECTOR
    assert ids(Result.open(directory)) == [0, 1, 2]
    with ResultWriter.resume(directory) as writer:
        assert writer.committed == {0, 1, 2}
        writer.commit(record(3))
    assert [entry.trial_id for entry in read_journal(directory)] == [0, 1, 2, 3]


def test_a_reader_waits_for_a_commit_that_goes_on(tmp_path: Path) -> None:
    """Each snapshot is one between two commits, though nothing keeps the writer from going on."""
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from vtax.results.files import lock_directory\n"
        "from vtax.results.journal import Entry, Journal\n"
        "directory = Path(sys.argv[1])\n"
        "lock, journal = lock_directory(directory), Journal(directory)\n"
        "print('ready', flush=True)\n"
        "for number in range(40):\n"
        "    journal.append(Entry(number, 0, {'trials': 1}))\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    lengths = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        while process.poll() is None:
            found = [entry.trial_id for entry in read_journal(tmp_path)]
            assert found == list(range(len(found)))
            lengths.append(len(found))
    assert process.returncode == 0
    assert lengths == sorted(lengths)
    assert len(read_journal(tmp_path)) == 40


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_what_is_no_file_is_no_journal(
    make: Callable[[Path], object], synthetic: Path, tmp_path: Path
) -> None:
    directory = copytree(synthetic, tmp_path / "result")
    (directory / NAME).unlink()
    make(directory / NAME)
    assert f"{NAME}: is no file" in Result.open(directory).damaged[0]
