"""The journal: torn at its end it is read and goes on, damaged or forged it is named, and the parts rule."""

import errno
import json
import os
import resource
import signal
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from shutil import copytree
from zlib import crc32

import pytest

import vtax
from tests.helpers.results import strange
from tests.helpers.results.stored import CAMPAIGN, ids, record
from tests.helpers.results.synthetic import make_result
from vtax.cli import main
from vtax.results import Result, ResultWriter
from vtax.results.files import DiskError, disk_errors
from vtax.results.journal import HEADER, NAME, DamagedJournalError, Entry, Journal, read_journal, read_numbers

ENTRIES = [Entry(number, number // 2, {"trials": 1, "flows": number}) for number in range(4)]
READS = (read_journal, read_numbers)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """One with a journal of four trials."""
    with closing(Journal(tmp_path)) as journal:
        for entry in ENTRIES:
            journal.append(entry)
    return tmp_path


def numbers(directory: Path) -> list[int]:
    trials, blocks = read_numbers(directory)
    entries = read_journal(directory)
    assert list(zip(trials.tolist(), blocks.tolist(), strict=True)) == [entry[:2] for entry in entries]
    return list(trials.tolist())


def test_what_is_committed_is_read_back(directory: Path) -> None:
    assert read_journal(directory) == ENTRIES
    assert numbers(directory) == [0, 1, 2, 3]
    with closing(Journal(directory)) as journal:
        journal.extend([Entry(9, 4, {}), Entry(8, 4, {})])
        assert read_journal(directory)[4:] == [Entry(9, 4, {}), Entry(8, 4, {})]
    assert {path.name for path in directory.iterdir()} == {NAME}


def test_a_line_cut_short_is_left_out_and_cut_off(directory: Path) -> None:
    """At every length that a killed writer or a full disk can leave of it."""
    path = directory / NAME
    content = path.read_bytes()
    begin = content[:-1].rindex(b"\n") + 1
    for length in range(begin, len(content)):
        torn = content[:length] + (b"", bytes(3), b"\xff\r\x0b")[length % 3]
        path.write_bytes(torn)
        assert read_journal(directory) == ENTRIES[:3]
        assert path.read_bytes() == torn
        with closing(Journal(directory)) as journal:
            journal.append(ENTRIES[3])
        assert read_journal(directory) == ENTRIES
        assert len(path.read_bytes()) == len(content)


def test_any_bit_that_is_another_is_noticed(directory: Path) -> None:
    path = directory / NAME
    content = path.read_bytes()
    last = content[:-1].rindex(b"\n") + 1
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        path.write_bytes(changed)
        if place >= last - 1:  # of the last line, or what separates it from the one before
            assert read_journal(directory) == ENTRIES[: 3 if place >= last else 2]
            continue
        line = content[:place].count(b"\n") + 1
        said = f"{NAME}: line {line} is damaged" if line > 1 else f"{NAME}: cannot be read .*first line"
        for read in READS:
            with pytest.raises(DamagedJournalError, match=said):
                read(directory)
        with pytest.raises(DamagedJournalError):
            Journal(directory)
        assert path.read_bytes() == changed


NONSENSE = {
    "of no number": b"x 0 now {}\n",
    "of too large a number": b"%d 0 now {}\n" % 2**62,
    "of a negative one": b"-1 0 now {}\n",
    "of no block": b"1 now {}\n",
    "without its rows": b"1 0 now\n",
    "with nonsense for rows": b"1 0 now nonsense\n",
    "with rows that are no numbers": b'1 0 now {"trials": "many"}\n',
    "with too many rows": b'1 0 now {"trials": %d}\n' % 2**62,
    "with rows nested deeply": b"1 0 now " + b"[" * 100_000 + b"\n",
    "with bytes that are no text": b'1 0 now {"\xff": 1}\n',
}


@pytest.mark.parametrize("line", NONSENSE.values(), ids=NONSENSE)
def test_a_line_that_says_nonsense_is_damage(line: bytes, directory: Path) -> None:
    with (directory / NAME).open("ab") as file:
        file.write(b"%08x %s" % (crc32(line), line))
    for read in READS:
        with pytest.raises(DamagedJournalError, match=f"{NAME}: cannot be read"):
            read(directory)


def test_it_is_made_to_hold_what_there_is(directory: Path) -> None:
    before = (directory / NAME).read_bytes().splitlines(keepends=True)
    with closing(Journal(directory)) as journal:
        journal.hold(ENTRIES)
        assert (directory / NAME).read_bytes() == b"".join(before)
        journal.hold([ENTRIES[1], Entry(7, 0, {}), ENTRIES[3]])
        journal.append(Entry(8, 0, {}))
    assert numbers(directory) == [1, 7, 3, 8]
    after = (directory / NAME).read_bytes().splitlines(keepends=True)
    assert [after[1], after[3]] == [before[2], before[4]]  # with the times of their commits


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Have the system refuse to write beyond so many bytes of any file, as a disk does that is full."""
    before, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    kept = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, most))
        signal.signal(signal.SIGXFSZ, kept)


@pytest.mark.parametrize("room", [0, 1, 20])
def test_a_line_that_does_not_fit_is_refused_and_written_again(room: int, directory: Path) -> None:
    size = (directory / NAME).stat().st_size
    with closing(Journal(directory)) as journal:
        with largest_file(size + room), pytest.raises(DiskError) as told, disk_errors(directory):
            journal.append(Entry(4, 2, {}))
        assert (directory / NAME).stat().st_size == size + room
        assert "completed trials are kept" in str(told.value)
        assert os.strerror(errno.ENOSPC if room else errno.EFBIG) in str(told.value)
        assert read_journal(directory) == ENTRIES
        journal.append(Entry(5, 2, {}))
    assert numbers(directory) == [0, 1, 2, 3, 5]


def test_a_reader_sees_whole_commits_only(tmp_path: Path) -> None:
    """While another process writes one after the other."""
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from vtax.results.journal import Entry, Journal\n"
        "journal = Journal(Path(sys.argv[1]))\n"
        "print('ready', flush=True)\n"
        "for number in range(2000):\n"
        "    journal.append(Entry(number, 0, {'trials': 1, 'flows': number}))\n"
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
    assert len(read_journal(tmp_path)) == 2000


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


MAGIC = bytes.fromhex("d9d505f920a163d7")
SECTOR, LOCK_BYTE = 512, 0x40000000
"""Of the format of SQLite's rollback journals (https://www.sqlite.org/fileformat2.html, section 3)."""


def hot(database: Path, victim: Path) -> bytes:
    """A rollback journal without pages that names `victim` as its super-journal, which SQLite removes in the end."""
    with database.open("rb") as file:
        header = file.read(100)
    (page,), (pages,) = struct.unpack(">H", header[16:18]), struct.unpack(">I", header[28:32])
    name = str(victim).encode()
    begin = MAGIC + struct.pack(">5I", 0, 0, pages, SECTOR, page)
    end = struct.pack(">I", LOCK_BYTE // page + 1) + name + struct.pack(">II", len(name), sum(name)) + MAGIC
    return begin.ljust(SECTOR, b"\0") + end


ENDLESS = (
    "CREATE VIEW trials AS WITH RECURSIVE each(trial_id, block, rows) AS"
    " (VALUES (1, 0, '{}') UNION ALL SELECT trial_id, block, rows FROM each) SELECT * FROM each"
)
"""What earlier versions kept as a table."""


@pytest.fixture(params=[NAME, "journal.sqlite"])
def forged(request: pytest.FixtureRequest, synthetic: Path, victim: Path, tmp_path: Path) -> Path:
    """A result whose journal is a database with an endless view, and beside it what makes SQLite remove a file."""
    directory = copytree(synthetic, tmp_path / "result")
    path = directory / request.param
    (directory / NAME).unlink()
    with sqlite3.connect(path) as database:
        database.execute(ENDLESS)
    (directory / f"{request.param}-journal").write_bytes(hot(path, victim))
    return directory


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
    "merge": lambda result, _: main(["merge", f"a={result}", "--out", f"{result}.merged"]) - 2,
    "load": lambda result, _: 0 if len(loaded(result)["trials"]) else 1,
}
"""Each returns 0: merging alone refuses a result whose journal is damaged."""


def loaded(result: Path) -> dict[str, list[object]]:
    with pytest.warns(UserWarning, match=f"{NAME}: "):
        return dict(vtax.load(str(result)))


@pytest.mark.parametrize("reader", READERS)
def test_a_database_is_not_opened(reader: str, forged: Path, victim: Path, other: Path) -> None:
    before = {path: path.read_bytes() for path in forged.glob("journal*")}
    assert READERS[reader](forged, other) == 0
    assert victim.read_text() == "kept\n"
    assert {path: path.read_bytes() for path in forged.glob("journal*")} == before


def test_the_forgery_is_one(forged: Path, victim: Path) -> None:
    """Whoever opens it as SQLite would loses the file, and waits for the view's end."""
    (path,) = [path for path in forged.glob("journal*") if not path.name.endswith("-journal")]
    with sqlite3.connect(path) as database:
        told = count()
        database.set_progress_handler(lambda: next(told) > 100, 10_000)
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            database.execute("SELECT count(*) FROM trials").fetchone()
    assert not victim.exists()


def test_without_it_the_parts_rule(forged: Path, synthetic: Path, victim: Path) -> None:
    opened = Result.open(forged)
    assert opened.tables == Result.open(synthetic).tables
    (damage,) = opened.damaged
    assert damage.startswith(f"{forged / NAME}: ")
    with ResultWriter.resume(forged) as writer:
        assert writer.repaired == [damage]
        assert {entry.trial_id for entry in read_journal(forged)} == writer.committed
    assert sorted(read_journal(forged)) == sorted(read_journal(synthetic))
    assert Result.open(forged).damaged == []
    assert victim.read_text() == "kept\n"


def test_a_campaign_killed_as_it_commits_is_read_and_goes_on(tmp_path: Path) -> None:
    with ResultWriter.create(tmp_path / "killed", CAMPAIGN) as writer:
        for number in range(3):
            writer.commit(record(number))
    path = tmp_path / "killed" / NAME
    path.write_bytes(path.read_bytes()[:-7])
    result = Result.open(tmp_path / "killed")
    assert (ids(result), result.damaged, result.notes) == ([0, 1, 2], [], [])
    with ResultWriter.resume(tmp_path / "killed") as writer:
        assert (writer.committed, writer.repaired) == ({0, 1, 2}, [])
        writer.commit(record(3))
    assert numbers(tmp_path / "killed") == [0, 1, 2, 3]


STRANGE: dict[str, Callable[[Path], object]] = {
    **strange.STRANGE,
    "link": lambda path: path.symlink_to(path.parent.parent / "victim"),
}


@pytest.mark.parametrize("strange", STRANGE)
def test_what_is_no_regular_file_is_no_journal(
    strange: str, synthetic: Path, victim: Path, tmp_path: Path
) -> None:
    directory = copytree(synthetic, tmp_path / "r")
    victim.write_bytes(HEADER)
    (directory / NAME).unlink()
    STRANGE[strange](directory / NAME)
    opened = Result.open(directory)
    assert f"{NAME}: cannot be read (is no regular file); the trials come from" in opened.damaged[0]
    assert opened.tables == Result.open(synthetic).tables
    ResultWriter.resume(directory).close()
    assert Result.open(directory).damaged == []
    assert victim.read_bytes() == HEADER


def test_one_that_is_too_large_is_not_read(directory: Path) -> None:
    os.truncate(directory / NAME, 2**28 + 1)
    with pytest.raises(DamagedJournalError, match=r"cannot be read \(is larger than 256 MiB\)"):
        read_journal(directory)
