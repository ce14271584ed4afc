"""A footprint tells what was left."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.footprint import differences, footprint, settles

pytestmark = pytest.mark.system


@pytest.fixture
def pins(tmp_path: Path) -> Iterator[Path]:
    """A file system that keeps BPF maps while they have a name there."""
    path = tmp_path / "pins"
    path.mkdir()
    subprocess.run(["mount", "-t", "bpf", "none", path], check=True)
    yield path
    subprocess.run(["umount", path], check=True)


def test_a_map_that_is_left_does_not_settle(pins: Path) -> None:
    before = footprint()
    kind = ["type", "array", "key", "4", "value", "4", "entries", "1", "name", "of_a_test"]
    subprocess.run(["bpftool", "map", "create", pins / "left", *kind], check=True)
    assert not settles(before, patience_s=0.1)
    (left,) = differences(before, footprint())["maps"]
    assert left.endswith(" of_a_test")
    (pins / "left").unlink()
    assert settles(before)
