"""A footprint tells what was left, and takes nothing that an earlier test's end still brings for a change."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.footprint import differences, footprint, settles

BEFORE = {"links": {"lo", "eth0"}, "programs": {"7 sink"}, "maps": {"8 counts"}}


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (BEFORE, {}),
        ({**BEFORE, "links": {"lo"}}, {"links": {"eth0"}}),
        ({**BEFORE, "links": {"lo", "eth1"}}, {"links": {"eth0", "eth1"}}),
        ({**BEFORE, "maps": {"8 counts", "9 sink"}}, {"maps": {"9 sink"}}),
        ({**BEFORE, "maps": set(), "programs": set()}, {}),
        ({**BEFORE, "maps": {"9 sink"}}, {"maps": {"9 sink"}}),
    ],
    ids=["same", "link gone", "link renamed", "map left", "earlier test's freed", "one freed and one left"],
)
def test_what_came_or_went_is_told_but_what_the_kernel_freed_later(
    after: dict[str, set[str]], told: dict[str, set[str]]
) -> None:
    assert differences(BEFORE, after) == told


@pytest.fixture
def pins(tmp_path: Path) -> Iterator[Path]:
    """A file system that keeps BPF maps while they have a name there."""
    path = tmp_path / "pins"
    path.mkdir()
    subprocess.run(["mount", "-t", "bpf", "none", path], check=True)
    yield path
    subprocess.run(["umount", path], check=True)


@pytest.mark.system
def test_a_map_that_is_left_does_not_settle(pins: Path) -> None:
    before = footprint()
    kind = ["type", "array", "key", "4", "value", "4", "entries", "1", "name", "of_a_test"]
    subprocess.run(["bpftool", "map", "create", pins / "left", *kind], check=True)
    assert not settles(before, patience_s=0.1)
    (left,) = differences(before, footprint())["maps"]
    assert left.endswith(" of_a_test")
    (pins / "left").unlink()
    assert settles(before)
