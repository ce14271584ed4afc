"""Results with anything in them: shown, or refused by name; nothing breaks, and nothing is written elsewhere.

VTAX_FUZZ_INPUTS is their number, VTAX_FUZZ_SEED what they are drawn from.
"""

import gc
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from random import Random
from shutil import copytree, rmtree
from tempfile import TemporaryDirectory

import pytest

from tests.helpers.json_schema import broken
from tests.helpers.results.hostile import journal_changed, manifest_changed, part_changed, result_changed
from tests.helpers.results.narrowed import narrow
from tests.helpers.results.recorded import KINDS, unpack
from vtax.cli import main
from vtax.documents.schema import DOCUMENTS, document_schema
from vtax.inputs import InputError
from vtax.results import DiskError, ResultWriter
from vtax.results.journal import DamagedJournalError, read_journal, read_numbers
from vtax.results.manifest import read_manifest
from vtax.results.mending import mend
from vtax.results.parts import DamagedPartError, read_part
from vtax.results.schema import schemas

INPUTS = int(os.environ.get("VTAX_FUZZ_INPUTS", "20000"))
SEED = int(os.environ.get("VTAX_FUZZ_SEED", "1"))

pytestmark = [pytest.mark.slow, pytest.mark.fuzz]


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """In memory where that is possible."""
    memory = Path("/dev/shm")  # noqa: S108, a directory of one's own is made there
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as directory:
        yield Path(directory)


@pytest.fixture(scope="module")
def recorded(place: Path) -> dict[str, Path]:
    """Results of all kinds, each in a directory of its own with a file outside of it; every other one lists columns."""
    for number, kind in enumerate(KINDS):
        unpack(kind, place / "recorded")
        if number % 2:
            narrow(place / "recorded" / kind)
    return {kind: place / "recorded" / kind for kind in KINDS}


def chances(share: float) -> Iterator[Random]:
    """One for each of this share of the inputs."""
    for number in range(int(INPUTS * share)):
        yield Random(f"{SEED} {number}")  # noqa: S311, repeatable


def test_any_journal(recorded: dict[str, Path], place: Path) -> None:
    content = (recorded["forwarding"] / "journal").read_bytes()
    outcomes = {"read": 0, "torn": 0, "damaged": 0}
    for chance in chances(0.5):
        changed = journal_changed(content, chance)
        (place / "journal").write_bytes(changed)
        try:
            entries = read_journal(place)
        except DamagedJournalError as error:
            assert str(error).startswith(f"{place}/journal: ")
            with pytest.raises(DamagedJournalError):
                read_numbers(place)
            outcomes["damaged"] += 1
        else:
            trials, blocks = read_numbers(place)
            assert [*zip(trials.tolist(), blocks.tolist(), strict=True)] == [entry[:2] for entry in entries]
            outcomes["read" if changed.endswith(b"\n") else "torn"] += 1
            assert len(entries) in (changed.count(b"\n") - 1, changed.count(b"\n") - 2)
    assert min(outcomes.values()) > 0.01 * INPUTS, outcomes


def test_any_campaign_json(recorded: dict[str, Path], place: Path) -> None:
    contents = [(directory / "campaign.json").read_bytes() for directory in recorded.values()]
    refused = 0
    for chance in chances(0.3):
        (place / "campaign.json").write_bytes(manifest_changed(chance.choice(contents), chance))
        try:
            campaign = read_manifest(place)
        except InputError as error:
            assert str(error).startswith(f"{place}/campaign.json: ")
            refused += 1
            continue
        mend(campaign)
        assert mend(campaign) == []
        schemas(campaign)
    assert 0.05 * INPUTS * 0.3 < refused < 0.95 * INPUTS * 0.3


def test_any_part(recorded: dict[str, Path], place: Path) -> None:
    parts = {
        path: schemas(read_manifest(directory))[path.parent.name]
        for directory in recorded.values()
        for path in sorted(directory.glob("*/*.parquet"))
    }
    contents = [(path.read_bytes(), schema) for path, schema in parts.items()]
    part, damaged = place / "part.parquet", 0
    for chance in chances(0.19):
        content, schema = chance.choice(contents)
        part.write_bytes(part_changed(content, chance))
        try:
            rows = read_part(part, schema).rows
            rows.validate(full=True)
            assert rows.schema == schema
        except DamagedPartError:
            damaged += 1
    assert damaged > 0.1 * INPUTS * 0.19


READERS: dict[str, Callable[[Path, Path], list[str]]] = {  # of a result, and of a place for what they write
    "show": lambda result, _: ["show", str(result)],
    "show --json": lambda result, _: ["show", str(result), "--json"],
    "sql": lambda result, _: ["sql", str(result), "SELECT * FROM cells", "--format", "json"],
    "compare": lambda result, _: ["compare", f"{result}-again", str(result)],
    "claims": lambda result, _: ["claims", str(result)],
    "diagnose": lambda result, _: ["diagnose", str(result)],
    "history": lambda result, _: ["history", str(result)],
    "export": lambda result, out: ["export", str(result), "--format", "csv", "--out", str(out / "export")],
    "merge": lambda result, out: ["merge", f"lab={result}", "--out", str(out / "merged")],
    "compare --json": lambda result, _: ["compare", f"{result}-again", str(result), "--json"],
    "claims --json": lambda result, _: ["claims", str(result), "--json"],
    "diagnose --json": lambda result, _: ["diagnose", str(result), "--json"],
    "history --json": lambda result, _: ["history", str(result), "--json"],
    "export --json": lambda result, _: ["export", str(result), "--format", "json"],
}

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
PATHS = {
    "open": 1,
    **dict.fromkeys(("os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.chmod", "os.chown"), 1),
    **dict.fromkeys(("os.rename", "os.link", "os.symlink"), 2),
}
"""Of the events that change something, how many of their arguments are paths."""
STACK_FRAMES = 8
"""As many as tell who did it."""
_places: list[tuple[Path, ...]] = []
_others: set[threading.Thread] = set()
"""Threads that tests before have left, which are busy with their own."""
_elsewhere: list[str] = []


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    """Note what is opened to be written, made, removed or renamed, but for these places."""
    if not _places or event not in PATHS or (event == "open" and not int(str(arguments[2])) & WRITES):
        return
    if threading.current_thread() in _others:
        return
    for path in arguments[: PATHS[event]]:
        if isinstance(path, str | bytes | Path):
            real = (
                Path(os.fsdecode(path)).resolve()
                if event == "open"
                else Path(os.fsdecode(path)).parent.resolve()
            )
            if not any(real.is_relative_to(place) for place in (*_places[-1], Path("/dev"))):
                stack = traceback.format_list(traceback.extract_stack()[-STACK_FRAMES:])
                _elsewhere.append(f"{event} {path!r}\n{''.join(stack)}")


sys.addaudithook(_watch)  # once, as there is no way to take it back


@contextmanager
def written_only_in(*places: Path) -> Iterator[None]:
    """Fail where Python opens a file elsewhere to write, or changes names elsewhere."""
    gc.collect()  # what tests before have left may remove files of its own as it goes
    _elsewhere.clear()
    _others.update({*threading.enumerate()} - {threading.current_thread()})
    _places.append(places)
    try:
        yield
    finally:
        _places.pop()
        _others.clear()
    assert not _elsewhere, "\n".join(_elsewhere)


def test_what_is_written_elsewhere_is_seen(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with written_only_in(tmp_path / "in"):
        (tmp_path / "in/file").write_text("")
    (tmp_path / "in/link").symlink_to(tmp_path / "out")
    for act in (lambda: (tmp_path / "in/link").write_text(""), (tmp_path / "out").unlink):
        with (
            pytest.raises(AssertionError, match=r"(open|os\.remove) .*/(link|out)"),
            written_only_in(tmp_path / "in"),
        ):
            act()


def test_what_tests_before_have_left_may_tidy_up(tmp_path: Path) -> None:
    class Left:
        def __init__(self, path: Path) -> None:
            self.itself = self
            self._path = path

        def __del__(self) -> None:
            self._path.unlink()

    (tmp_path / "in").mkdir()
    (tmp_path / "left").write_text("")
    Left(tmp_path / "left")
    with written_only_in(tmp_path / "in"):
        gc.collect()
    assert not (tmp_path / "left").exists()


def test_what_a_thread_writes_elsewhere_is_seen_if_it_began_meanwhile(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    begin = threading.Event()

    def write() -> None:
        assert begin.wait(10)
        (tmp_path / "out").write_text("")

    before, meanwhile = threading.Thread(target=write), threading.Thread(target=write)
    before.start()
    with written_only_in(tmp_path / "in"):
        begin.set()
        before.join()
    with pytest.raises(AssertionError, match=r"open .*/out"), written_only_in(tmp_path / "in"):
        meanwhile.start()
        meanwhile.join()


@pytest.fixture
def outside(place: Path) -> Iterator[Path]:
    path = place / "hostile/outside"
    path.parent.mkdir()
    path.write_text("kept")
    yield path
    assert path.read_text() == "kept"
    rmtree(path.parent)


def test_any_result_is_shown_or_refused(
    recorded: dict[str, Path], outside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By each command that reads results."""
    result, out = outside.parent / "result", outside.parent / "out"
    told = {0: 0, 2: 0}
    for chance in chances(0.005):
        kind = chance.choice(KINDS)
        copytree(recorded[kind], result)
        copytree(f"{recorded[kind]}-again", f"{result}-again")
        out.mkdir()
        result_changed(result, chance)
        reader = chance.choice([*READERS])
        command = READERS[reader](result, out)
        # What is opened by a directory's descriptor has a name without one: it counts as one of this place.
        with chdir(out), written_only_in(out):
            status = main(command)
        said = capsys.readouterr()
        assert "vtax broke" not in said.err, (chance, command, said.err)
        assert status in (0, 2, 3, 5), (command, status, said.err)
        assert status != 2 or said.err, command
        if (name := reader.removesuffix(" --json")) != reader and name in DOCUMENTS and status != 2:
            assert broken(json.loads(said.out), document_schema(name)) == [], (chance, command)
        told[status] = told.get(status, 0) + 1
        for place in (result, f"{result}-again", out):
            rmtree(place)
    assert min(told[0], told[2]) > 0.1 * INPUTS * 0.005, told


def test_any_result_is_gone_on_with_or_refused(recorded: dict[str, Path], outside: Path) -> None:
    result = outside.parent / "result"
    for chance in chances(0.005):
        copytree(recorded[chance.choice(KINDS)], result)
        result_changed(result, chance)
        with written_only_in(result):
            try:
                ResultWriter.resume(result).close()
            except (InputError, DiskError) as error:
                assert str(error).startswith(str(result))
        rmtree(result)
