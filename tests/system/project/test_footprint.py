"""A footprint tells what was left."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.footprint import ROOM, Footprint, differences, footprint, settles
from tests.helpers.paths import ROOT

pytestmark = pytest.mark.system
LEAVE = """
import json, subprocess
from subprocess import DEVNULL
from pathlib import Path
from tests.helpers.footprint import differences, footprint

before = footprint()
command = ["sh", "-c", "sleep 60; : /run/vtax/left"]
kept = subprocess.Popen(command, start_new_session=True, stdout=DEVNULL, stderr=DEVNULL)
subprocess.run(["ip", "netns", "add", "left"], check=True)
Path("/run/vtax/left").touch()
left = differences(before, footprint())
print(json.dumps({"left": {kind: sorted(names) for kind, names in left.items()}, "pid": kept.pid}))
"""


@pytest.fixture
def pins(tmp_path: Path) -> Iterator[Path]:
    """A file system that keeps BPF maps while they have a name there."""
    path = tmp_path / "pins"
    path.mkdir()
    subprocess.run(["mount", "-t", "bpf", "none", path], check=True)
    yield path
    subprocess.run(["umount", path], check=True)


def test_a_map_that_is_left_does_not_settle(pins: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ROOM, raising=False)  # other rooms' maps come and go meanwhile
    before = footprint()
    kind = ["type", "array", "key", "4", "value", "4", "entries", "1", "name", "of_a_test"]
    subprocess.run(["bpftool", "map", "create", pins / "left", *kind], check=True)
    assert not settles(before, patience_s=0.1)
    assert _maps_of_this_test(before)
    (pins / "left").unlink()
    deadline = time.monotonic() + 60.0  # the kernel frees it some time later
    while _maps_of_this_test(before):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_room_shows_what_is_left_in_it_and_the_machine_what_outlives_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(ROOM, raising=False)
    room = [ROOT / "tests/helpers/room", "-c", LEAVE]
    told = json.loads(subprocess.run(room, check=True, capture_output=True, text=True, cwd=ROOT).stdout)
    try:
        (process,) = told["left"].pop("processes")
        assert "/run/vtax/left" in process
        assert told["left"] == {"namespaces": ["left"], "scratch": ["left"]}
        assert process in footprint()["processes"]
        assert "left" not in footprint()["namespaces"] | footprint()["scratch"]
    finally:
        os.killpg(told["pid"], signal.SIGKILL)


def test_a_room_sees_no_process_of_another() -> None:
    with subprocess.Popen(
        [ROOT / "tests/helpers/room", "-c", "print('there', flush=True); input()", "/run/vtax/other"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "there\n"
        seen = subprocess.run(
            [
                ROOT / "tests/helpers/room",
                "-c",
                "from tests.helpers.footprint import footprint; print(footprint()['processes'])",
            ],
            check=True,
            capture_output=True,
            text=True,
            cwd=ROOT,
        )
        other.communicate("\n")
    assert seen.stdout == "set()\n"


def _maps_of_this_test(before: Footprint) -> list[str]:
    return [each for each in differences(before, footprint()).get("maps", ()) if each.endswith(" of_a_test")]
