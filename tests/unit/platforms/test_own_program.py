"""A program of the user's own that starts guests: what it says, bounded, and whether the platform can use it."""

import subprocess
import time
from pathlib import Path

import pytest

from tests.helpers.commands import command
from vtax.platforms import PlatformUnusable, container, program, qemu
from vtax.platforms.emulator import own_emulator
from vtax.platforms.program import MOST_BYTES, MOST_CHARACTERS, ask, told_version

VERSION = 'case "$*" in *help*) echo /nowhere/share/qemu;; *) echo QEMU emulator version 10.2.50;; esac'


def test_an_answer_without_an_end_is_cut(tmp_path: Path) -> None:
    command(tmp_path, "runc", "yes")
    status, output, _ = ask([str(tmp_path / "runc"), "--version"])
    assert status < 0
    assert MOST_BYTES <= len(output) <= 2 * MOST_BYTES
    command(tmp_path, "runc", "head -c 60000 /dev/zero | tr '\\0' v")
    assert told_version(str(tmp_path / "runc"), "runc") == "v" * MOST_CHARACTERS


def test_one_that_does_not_answer_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "ANSWER_LIMIT_S", 0.3)
    for script in ("sleep 60 & sleep 60", "exec sleep 60 >/dev/null 2>&1"):
        command(tmp_path, "runc", script)
        begun = time.monotonic()
        with pytest.raises(PlatformUnusable, match=r"timed out after 0\.3 seconds; needs another runc"):
            told_version(str(tmp_path / "runc"), "runc", own="runc")
        assert time.monotonic() - begun < 10


def test_a_version_commands_no_terminal(tmp_path: Path) -> None:
    command(tmp_path, "runc", r"printf 'runc \033[31m1\n'")
    assert told_version(str(tmp_path / "runc"), "runc") == r"runc \x1b[31m1"


def test_another_runtime_than_the_platforms_is_named(tmp_path: Path) -> None:
    command(tmp_path, "built", "echo crun version 1.8.1")
    config = container.Config(binary=str(tmp_path / "built"))
    with pytest.raises(PlatformUnusable, match="built is crun, not runc; needs a platform of crun"):
        container.Kind().known(config)
    config = container.Config(binary=str(tmp_path / "built"), runtime="crun")
    assert container.Kind().known(config).facts == {"version": "crun version 1.8.1"}


def test_what_is_no_qemu_is_named(tmp_path: Path) -> None:
    command(tmp_path, "built", "echo true 9.1")
    with pytest.raises(PlatformUnusable, match=r"built is no QEMU: it says true 9\.1"):
        own_emulator(str(tmp_path / "built"))


def test_a_qemu_without_firmware_has_that_of_the_installed_one(tmp_path: Path) -> None:
    command(tmp_path, "built", VERSION)
    bare = own_emulator(str(tmp_path / "built"))
    assert (bare.version, bare.firmware) == ("10.2.50", "installed")
    assert [*bare.command[:3]] == [
        "env",
        "QEMU_MODULE_DIR=/usr/lib/x86_64-linux-gnu/qemu",
        str(tmp_path / "built"),
    ]
    command(tmp_path, "built", VERSION.replace("/nowhere/share/qemu", str(tmp_path)))
    whole = own_emulator(str(tmp_path / "built"))
    assert (whole.command, whole.firmware) == ([str(tmp_path / "built")], "own")
    assert whole.identity != bare.identity


def test_a_confined_emulator_has_to_be_reached_by_its_user() -> None:
    assert "binary" in qemu.Config().shared_files
    assert "binary" not in qemu.Config(isolation="none").shared_files
    assert container.Config().shared_files == frozenset()


def test_an_own_emulator_may_serve_vhost_user() -> None:
    keys = {"backend": "vhost-user", "offloads": "none"}
    with pytest.raises(PlatformUnusable, match="needs version=backports"):
        qemu.Config.model_validate(keys).check_combination()
    qemu.Config.model_validate({**keys, "binary": "/opt/qemu"}).check_combination()


def test_what_it_starts_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "ANSWER_LIMIT_S", 0.3)
    for end in ("wait", "exit 0"):
        command(tmp_path, "runc", f"sleep 61 & echo $! >{tmp_path}/pid; {end}")
        with pytest.raises(subprocess.TimeoutExpired):
            ask([str(tmp_path / "runc")])
        assert _is_gone(tmp_path / "pid")


def _is_gone(pid: Path) -> bool:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        state = Path(f"/proc/{pid.read_text().strip()}/stat")
        if not state.exists() or state.read_text().split()[2] == "Z":
            return True
        time.sleep(0.05)
    return False
