"""Results that somebody made to break their readers: each strange file is refused by name, at once."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any
from zlib import crc32

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.helpers.results import strange
from tests.helpers.results.stored import ids
from tests.helpers.results.synthetic import make_result
from vtax.cli import main
from vtax.inputs import InputError
from vtax.results import Delivered, Result, merge
from vtax.results.bounds import JOURNAL_BYTES, MANIFEST_BYTES, MANIFEST_LEVELS, PART_BYTES, PART_ROWS
from vtax.results.journal import NAME as JOURNAL
from vtax.results.manifest import NAME as MANIFEST
from vtax.results.manifest import read_manifest
from vtax.results.schema import schemas


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Blocks 0 and 1 of 5 and 4 trials, of a testbed that has a name."""
    directory = make_result(
        tmp_path_factory.mktemp("results") / "synthetic",
        platforms=("raw", "qemu-virtio"),
        streams=(2,),
        frame_bytes=(64,),
        loads=(100.0, None),
        repetitions=2,
    )
    told(directory, testbed={"name": "lab"})
    return directory


@pytest.fixture
def directory(synthetic: Path, tmp_path: Path) -> Path:
    return copytree(synthetic, tmp_path / "r")


def told(directory: Path, **fields: Any) -> None:
    """Have campaign.json say something else."""
    path = directory / MANIFEST
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


STRANGE: dict[str, Callable[[Path], object]] = {
    **strange.STRANGE,
    "link": lambda path: path.symlink_to(f"{path}.kept"),
}
"""Made in a file's place; the file itself is kept beside it."""


def replaced(path: Path, strange: str) -> None:
    path.rename(f"{path}.kept")
    STRANGE[strange](path)


def refused(directory: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What `vtax show` says of a result that it does not show."""
    assert main(["show", str(directory)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "vtax broke" not in said.err
    return said.err


@pytest.mark.parametrize("strange", STRANGE)
def test_campaign_json_is_a_regular_file(
    strange: str, directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    replaced(directory / MANIFEST, strange)
    assert refused(directory, capsys) == f"{directory}/campaign.json: cannot be read (is no regular file)\n"


@pytest.mark.parametrize("table", ["trials", "cpu"])
@pytest.mark.parametrize("strange", STRANGE)
def test_a_part_is_a_regular_file(
    strange: str, table: str, directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = directory / table / "block-0001.parquet"
    replaced(part, strange)
    (damage,) = Result.open(directory).damaged
    assert damage.startswith(f"{part}: damaged (is no regular file); 4 trials of block 1 are ")
    assert main(["show", str(directory)]) == 0
    assert "is no regular file" in " ".join(capsys.readouterr().out.split())


DEEP = {
    "a list": b'{"format_version": 1, "seed": %s}' % (b"[" * MANIFEST_LEVELS + b"]" * MANIFEST_LEVELS),
    "a hundred thousand lists": b"[" * 100_000,
    "closed": b"[" * 100_000 + b"]" * 100_000,
    "objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
}


@pytest.mark.parametrize("content", DEEP.values(), ids=DEEP)
def test_campaign_json_is_not_nested_deeply(
    content: bytes, directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (directory / MANIFEST).write_bytes(content)
    assert refused(directory, capsys) == (
        f"{directory}/campaign.json: nested deeper than 100 levels; "
        "any Parquet reader still opens the tables beside it\n"
    )


def test_what_is_nested_as_deeply_as_is_allowed_is_read(directory: Path) -> None:
    levels: list[Any] = []
    for _ in range(MANIFEST_LEVELS - 2):
        levels = [levels]
    told(directory, note=levels)
    result = Result.open(directory)
    assert result.campaign["note"] == levels
    told(directory, note=[levels])
    with pytest.raises(InputError, match="nested deeper"):
        Result.open(directory)


def test_sizes_are_bounded(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each of these files is as large only by its hole."""
    part = directory / "cpu/block-0001.parquet"
    os.truncate(part, PART_BYTES + 1)
    os.truncate(directory / JOURNAL, JOURNAL_BYTES + 1)
    journal, damage = Result.open(directory).damaged
    assert journal.startswith(
        f"{directory}/journal: cannot be read (is larger than 256 MiB); the trials come from"
    )
    assert damage.startswith(f"{part}: damaged (is larger than 1024 MiB); ")
    os.truncate(directory / MANIFEST, MANIFEST_BYTES + 1)
    assert (
        refused(directory, capsys) == f"{directory}/campaign.json: cannot be read (is larger than 16 MiB)\n"
    )


@pytest.mark.slow
def test_a_part_has_a_bounded_number_of_rows(directory: Path) -> None:
    """That takes no space in a file where all of them are null."""
    part = directory / "cpu/block-0001.parquet"
    schema = schemas(read_manifest(directory))["cpu"]
    rows = pa.table([pa.nulls(PART_ROWS + 1, field.type) for field in schema], schema=schema)
    pq.write_table(rows, part)
    assert part.stat().st_size < 2**20
    (damage,) = Result.open(directory).damaged
    assert damage.startswith(f"{part}: damaged (it has more than 16,777,216 rows); 4 trials of block 1")


def test_a_table_has_a_bounded_number_of_files(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("vtax.results.parts.PARTS", 3)
    for number in range(2):
        (directory / "cpu" / f"{number}").touch()
    assert refused(directory, capsys) == (
        f"{directory}/cpu: more than 3 files; a table of a result has fewer: remove what is not its own\n"
    )


@pytest.mark.parametrize(
    "name", ["block-\u0663\u0663\u0663\u0663.parquet", "block-00001.parquet", "block-1.parquet"]
)
def test_a_file_of_another_name_is_no_part(name: str, directory: Path) -> None:
    (directory / "trials" / name).write_bytes(b"PAR1")
    result = Result.open(directory)
    assert (result.damaged, len(ids(result))) == ([], 9)


def test_a_journal_names_no_block_that_cannot_be(directory: Path) -> None:
    line = b'99 10000 now {"trials": 1}\n'
    with (directory / JOURNAL).open("ab") as file:
        file.write(b"%08x %s" % (crc32(line), line))
    (damage,) = Result.open(directory).damaged
    assert damage.startswith(f"{directory}/journal: cannot be read (trial 99 of block 10000); ")


@pytest.mark.parametrize("column", ["verdict", "cell"])
def test_values_that_no_campaign_writes_are_refused(
    column: str, directory: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    part = directory / "trials/block-0001.parquet"
    rows = pq.read_table(part)
    place = rows.schema.get_field_index(column)
    values = pa.array(["x"] * len(rows) if column == "verdict" else [None] * len(rows), pa.string())
    pq.write_table(rows.set_column(place, rows.schema.field(place), values), part)
    said = refused(directory, capsys)
    assert said.startswith(f"{directory}: cannot be shown (")
    assert said.endswith("or vtax has a defect: VTAX_DEBUG=1 in the environment shows the traceback\n")
    monkeypatch.setenv("VTAX_DEBUG", "1")
    assert main(["show", str(directory)]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        ({"factors": ["platform", ["x"]]}, "factors.1 is not a name"),
        ({"factors": ["platform", ""]}, "factors.1 is not a name"),
        ({"testbed": {"cpus": {"host": [[1]]}}}, "testbed.cpus.host.0 is not a whole number"),
        ({"scenario": {"ab": {"fixed": "no"}}}, "scenario.ab.fixed is not true or false"),
    ],
)
def test_what_campaign_json_lists_is_what_it_may_be(
    edit: dict[str, Any], problem: str, directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told(directory, **edit)
    assert f"campaign.json: {problem}; it is read as if it were not there" in Result.open(directory).damaged
    for command in ("show", "diagnose"):
        assert main([command, str(directory)]) == 0
        assert "Traceback" not in capsys.readouterr().err


class TestMerging:
    """What is taken from a result into another."""

    @pytest.mark.parametrize("place", ["files/tool", "captures/1.pcap"])
    @pytest.mark.parametrize("strange", ["link", "pipe", "link to a device"])
    def test_no_strange_file_is_copied(
        self, strange: str, place: str, directory: Path, tmp_path: Path
    ) -> None:
        (directory / place).parent.mkdir()
        (directory / f"{place}.kept").write_text("secret")
        STRANGE[strange](directory / place)
        if place.startswith("files"):
            (directory / f"{place}.kept").rename(tmp_path / "tool.kept")
        with pytest.raises(
            InputError, match=f"{place}: is no regular file; remove it, or leave out {directory}"
        ):
            merge([Delivered.open(directory)], tmp_path / "out")

    def test_its_files_are_copied(self, directory: Path, tmp_path: Path) -> None:
        (directory / "files").mkdir()
        (directory / "files/tool").write_text("own")
        merge([Delivered.open(directory)], tmp_path / "out")
        assert (tmp_path / "out/files/tool").read_text() == "own"

    def test_what_was_edited_into_another_shape_is_refused(self, directory: Path) -> None:
        told(directory, hosts=[7])
        with pytest.raises(InputError, match=r"r: campaign.json: hosts is not a mapping; correct it before"):
            Delivered.open(directory)

    def test_a_billion_blocks_are_not_looked_for(self, directory: Path, tmp_path: Path) -> None:
        scenario = read_manifest(directory)["scenario"]
        assert isinstance(scenario, dict)
        told(directory, scenario={**scenario, "repetitions": 10**12})
        (note,) = merge([Delivered.open(directory)], tmp_path / "out")
        assert note.startswith("measured nowhere as a whole: block 2, 3")
        assert len(ids(Result.open(tmp_path / "out"))) == 9

    def test_one_without_factors_is_merged(self, directory: Path, tmp_path: Path) -> None:
        told(directory, factors=None)
        merge([Delivered.open(directory)], tmp_path / "out")
        rmtree(directory)
        assert len(ids(Result.open(tmp_path / "out"))) == 9
