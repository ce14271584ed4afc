"""Blocks of several testbeds as one result: whole, none twice, the same in any order, and no mean of two testbeds."""

import errno
import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import Made
from tests.helpers.results.stored import record
from vtax.campaign.blocks import read_blocks
from vtax.cli import main
from vtax.inputs import InputError
from vtax.model.frames import READING
from vtax.model.metrics import THROUGHPUT
from vtax.model.reading import read_cells
from vtax.results import CapturedFrame, Delivered, MergedWriter, Result, ResultWriter, manifest, merge
from vtax.results.captures import capture_path
from vtax.results.schema import TABLES
from vtax.views import write_report
from vtax.views.provenance import read_provenance

BLOCKS = 4
HOST = {"hash": "0" * 12, "cpus": 2}


def part(directory: Path, blocks: dict[int, float], **campaign: Any) -> Path:
    """A result of these blocks, of raw and container, in which raw receives so much."""
    trials = [
        Made(platform=platform, block=block, received_mbps=share * mbps)
        for block, mbps in blocks.items()
        for platform, share in (("raw", 1.0), ("container", 0.5))
    ]
    told = {
        "vtax_version": "1",
        "factors": ["platform", "streams", "frame_bytes", "intended_mbps"],
        "blocks": list(blocks),
        "hosts": {"local": HOST},
        "testbed": {"name": "local", "cpus": {"host": [1]}},
        "ceilings": [{"mechanism": "raw", "ceiling_fps": 1e6}],
        **campaign,
    }
    make(directory, trials, scenario={"repetitions": BLOCKS}, **told)
    return directory


@pytest.fixture
def two(tmp_path: Path) -> list[Delivered]:
    """Blocks of testbed a, where raw receives 90 and 94 Mbit/s, and of b, where it receives 40 and 44."""
    a = part(tmp_path / "a", {0: 90.0, 3: 94.0})
    b = part(tmp_path / "b", {1: 40.0, 2: 44.0})
    return [Delivered.open(a, "a"), Delivered.open(b, "b")]


def test_blocks_keep_their_numbers_and_trials_get_their_own(two: list[Delivered], tmp_path: Path) -> None:
    assert merge(two, tmp_path / "out") == []
    result = Result.open(tmp_path / "out")
    assert result.damaged == []
    rows = result.query("SELECT trial_id, block, testbed, platform FROM trials ORDER BY trial_id").to_pylist()
    assert [(row["trial_id"], row["block"], row["testbed"]) for row in rows] == [
        (block * 1_000_000 + place, block, testbed)
        for block, testbed in enumerate("abba")
        for place in (1, 2)
    ]
    hosts = result.query("SELECT DISTINCT host FROM cpu ORDER BY ALL")["host"].to_pylist()
    assert hosts == ["a", "b"]
    assert result.campaign["status"] == "complete"
    assert list(result.campaign["hosts"]) == list(result.campaign["testbeds"]) == ["a", "b"]
    assert result.campaign["testbed"] == {"name": "a, b", "cpus": {"host": [1]}}
    assert [(each["block"], each["testbed"]) for each in result.campaign["ceilings"]] == [
        (0, "a"),
        (1, "b"),
        (2, "b"),
        (3, "a"),
    ]


def test_no_mean_is_of_two_testbeds(two: list[Delivered], tmp_path: Path) -> None:
    merge(two, tmp_path / "out")
    result = Result.open(tmp_path / "out")
    read = read_cells(result, READING, [THROUGHPUT], ("raw", "container"))
    cells = {(cell.platform, *cell.setting.further): cell for cell in read}
    assert {key: tuple(cell.columns["received_mbps"]) for key, cell in cells.items()} == {
        ("raw", ("testbed", "a")): (90.0, 94.0),
        ("container", ("testbed", "a")): (45.0, 47.0),
        ("raw", ("testbed", "b")): (40.0, 44.0),
        ("container", ("testbed", "b")): (20.0, 22.0),
    }
    assert tuple(cells["raw", ("testbed", "b")].blocks) == (1, 2)
    page = write_report(result)
    assert page is not None
    assert "testbed = a" in page.read_text()
    origin = read_provenance(result)
    assert (origin.planned_trials, origin.measured_trials) == (2 * BLOCKS, 2 * BLOCKS)


def everything(directory: Path) -> dict[str, Any]:
    tables = {
        f"{path.parent.name}/{path.name}": pq.read_table(path).to_pylist()
        for path in directory.glob("*/*.parquet")
    }
    return {**tables, "campaign": json.loads((directory / "campaign.json").read_text())}


def test_it_is_the_same_in_whatever_order_blocks_arrive(two: list[Delivered], tmp_path: Path) -> None:
    a, b = two
    merge([a, b], tmp_path / "merged")
    with MergedWriter.begin(tmp_path / "arrived", {**a.campaign, "status": "running"}) as writer:
        for delivered, number in ((b, 2), (a, 3), (b, 1), (a, 0)):
            assert len(writer.adopt(delivered, number)) == 2
        writer.update(status="complete")
    assert everything(tmp_path / "merged") == everything(tmp_path / "arrived")


def test_a_block_is_taken_once_and_whole_where_it_can_be(tmp_path: Path) -> None:
    cut = Delivered.open(part(tmp_path / "cut", {0: 90.0, 1: 91.0, 2: 92.0}, status="interrupted"), "a")
    later = Delivered.open(part(tmp_path / "later", {1: 40.0, 2: 41.0}), "b")
    notes = merge([cut, later], tmp_path / "out")
    assert notes == [
        f"block 1 is taken from {cut.directory}, not from {later.directory}",
        f"block 2 is taken from {later.directory}, not from {cut.directory}",
        "measured nowhere as a whole: block 3",
    ]
    result = Result.open(tmp_path / "out")
    taken = result.query("SELECT DISTINCT block, testbed FROM trials ORDER BY ALL").to_pylist()
    assert [row["testbed"] for row in taken] == ["a", "a", "b"]
    assert result.campaign["status"] == "interrupted"
    with MergedWriter.resume(tmp_path / "out") as writer:
        assert writer.blocks == {0, 1, 2}
        with pytest.raises(InputError, match="block 2 has been merged already"):
            writer.adopt(later, 2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": 8}, "they differ in seed: 8 and 7"),
        ({"vtax_version": "2"}, "they differ in vtax version: 2 and 1"),
        (
            {"hosts": {"local": {**HOST, "hash": "1" * 12}}},
            "its host is another one than testbed a had before",
        ),
        ({"testbeds": {"x": {}}}, "is merged already"),
    ],
)
def test_what_is_no_part_of_the_campaign_is_refused(
    change: dict[str, Any], words: str, two: list[Delivered], tmp_path: Path
) -> None:
    other = part(tmp_path / "other", {1: 40.0}, **change)
    with pytest.raises(InputError, match=words):
        merge([two[0], Delivered.open(other, "a")], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_damaged_block_is_refused_before_any_of_it_is_written(two: list[Delivered], tmp_path: Path) -> None:
    path = two[1].directory / "flows" / "block-0001.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match=r"block 1 is not whole: .*flows/block-0001.parquet: damaged"):
        merge(two, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out/trials").iterdir()] == ["block-0000.parquet"]


def test_precision_is_measured_on_one_testbed(tmp_path: Path) -> None:
    made = part(tmp_path / "a", {0: 90.0})
    manifest = json.loads((made / "campaign.json").read_text())
    manifest["scenario"]["precision"] = {"relative_width": 0.1}
    (made / "campaign.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="with `precision` all trials of a cell belong together"):
        Delivered.open(made, "a")


def test_every_table_and_capture_comes_along(tmp_path: Path) -> None:
    campaign = {
        "name": "t",
        "factors": ["platform"],
        "scenario": {"repetitions": 2},
        "hosts": {},
        "status": "complete",
    }
    captured = [CapturedFrame(1, 60, b"\x01" * 60)]
    with ResultWriter.create(tmp_path / "a", campaign) as writer:
        for number in (5, 7, 9):
            writer.commit(replace(record(number, block=1, cell="c", search="s"), capture=captured))
    merge([Delivered.open(tmp_path / "a", "a")], tmp_path / "out")
    result = Result.open(tmp_path / "out")
    assert result.damaged == []
    own = {
        "trials": ["cell", "search", "testbed"],
        "stages": ["host"],
        "environment": ["host"],
        "samples": ["ns"],
    }
    for name in TABLES:
        ids = result.tables[name]["trial_id"].to_pylist()
        assert sorted(set(ids)) == [1_000_001, 1_000_002, 1_000_003], name
        assert len(ids) == len(Result.open(tmp_path / "a").tables[name])
    first = {name: result.tables[name].select(columns).to_pylist()[0] for name, columns in own.items()}
    assert first == {
        "trials": {"cell": "c testbed=a", "search": "s testbed=a", "testbed": "a"},
        "stages": {"host": "a/uut"},
        "environment": {"host": "a"},
        "samples": {"ns": 54_400},
    }
    copy = capture_path(tmp_path / "out", 1_000_002)
    assert copy.read_bytes() == capture_path(tmp_path / "a", 7).read_bytes()


KILLED = """
import os, signal, sys
from pathlib import Path
import vtax.results.{module} as module
from vtax.results import Delivered, MergedWriter
calls = 0
original = module.{owner}
def dying(*arguments):
    global calls
    calls += 1
    if calls == {nth}:
        os.kill(os.getpid(), signal.SIGKILL)
    return original(*arguments)
module.{owner} = dying
with MergedWriter.resume(Path(sys.argv[1])) as writer:
    writer.adopt(Delivered.open(Path(sys.argv[2]), "b"), 1)
"""


@pytest.mark.parametrize(
    ("module", "owner", "nth"),
    [("writer", "write_part", 3), ("writer", "write_part", 10), ("merged", "Entry", 2)],
)
def test_a_collector_killed_in_a_commit_goes_on(
    module: str, owner: str, nth: int, two: list[Delivered], tmp_path: Path
) -> None:
    a, b = two
    out = tmp_path / "out"
    with MergedWriter.begin(out, {**a.campaign, "status": "running"}) as writer:
        writer.adopt(a, 0)
    script = KILLED.format(module=module, owner=owner, nth=nth)
    done = subprocess.run([sys.executable, "-c", script, out, b.directory], check=False)
    assert done.returncode == -signal.SIGKILL
    with MergedWriter.resume(out) as writer:
        for delivered, number in ((b, 1), (b, 2), (a, 3)):
            if number not in writer.blocks:
                writer.adopt(delivered, number)
        writer.update(status="complete")
    merge(two, tmp_path / "unharmed")
    assert everything(out) == everything(tmp_path / "unharmed")
    assert Result.open(out).damaged == []


def test_the_command_wants_testbeds_named(
    two: list[Delivered], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = (str(each.directory) for each in two)
    assert main(["merge", a, b, "--out", str(tmp_path / "out")]) == 2
    assert f"name it, as NAME={a}" in capsys.readouterr().err
    assert main(["merge", f"a={a}", f"b={b}", "--out", str(tmp_path / "out")]) == 0
    assert Result.open(tmp_path / "out").campaign["status"] == "complete"
    assert main(["run", "handmade", "--resume", str(tmp_path / "out")]) == 2


@pytest.mark.parametrize(("text", "blocks"), [("0", [0]), ("0-2,7", [0, 1, 2, 7]), (" 3 ", [3])])
def test_blocks_are_numbers_and_ranges(text: str, blocks: list[int]) -> None:
    assert read_blocks(text) == blocks


@pytest.mark.parametrize("text", ["", "a", "3-1", "-1", "1,,2", "1-"])
def test_other_texts_name_no_blocks(text: str) -> None:
    with pytest.raises(InputError, match="names no blocks"):
        read_blocks(text)


def test_a_full_disk_does_not_send_a_merge_to_a_campaign(
    two: list[Delivered], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(manifest, "replace_file", full)
    out = tmp_path / "out"
    assert main(["merge", *(f"{part.testbed}={part.directory}" for part in two), "--out", str(out)]) == 1
    said = capsys.readouterr().err
    assert said == (
        f"{out / 'campaign.json'}: No space left on device; make room, remove {out} and merge again\n"
    )


def with_binary(sha256: str) -> dict[str, Any]:
    return {"platforms": {"container": {"facts": {"files": {"/opt/runc": {"sha256": sha256}}}}}}


def test_guests_of_all_blocks_start_from_the_same_file(tmp_path: Path) -> None:
    parts = [
        Delivered.open(part(tmp_path / name, {block: 90.0}, **with_binary(sha256)), name)
        for name, block, sha256 in (("a", 0, "11" * 32), ("b", 1, "11" * 32), ("c", 2, "22" * 32))
    ]
    merge(parts[:2], tmp_path / "two")
    with pytest.raises(
        InputError, match=r"c: its guests started from another /opt/runc .* 222222222222.*, not 1111"
    ):
        merge(parts, tmp_path / "three")
    assert not (tmp_path / "three").exists()
    with (
        MergedWriter.resume(tmp_path / "two") as writer,
        pytest.raises(InputError, match="another /opt/runc"),
    ):
        writer.adopt(parts[2], 2)
