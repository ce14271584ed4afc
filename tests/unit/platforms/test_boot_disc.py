"""The disc that guests start from where a hypervisor takes no kernel."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from vtax.machine.agent import agent_binary
from vtax.platforms import PlatformUnusable, boot_disc
from vtax.platforms.boot_disc import build_disc, check_disc
from vtax.platforms.kernel import Kernel


@pytest.fixture
def kernel(able: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kernel]:
    """One whose boot image is no image of anything; the cache is empty."""
    monkeypatch.setenv("VTAX_CACHE", str(tmp_path / "cache"))
    (tmp_path / "boot").mkdir()
    (tmp_path / "boot/vmlinuz-6.1").write_bytes(b"a kernel")
    build_disc.cache_clear()
    yield Kernel("6.1", "linux-image-6.1", tmp_path)
    build_disc.cache_clear()


def xorriso(disc: Path, *words: str) -> str:
    command = ["xorriso", "-osirrox", "on", "-indev", str(disc), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
def test_it_starts_a_kernel_with_the_agent_on_a_serial_line(kernel: Kernel, tmp_path: Path) -> None:
    disc = build_disc(kernel, ())
    assert "El Torito boot img :   1  BIOS  y   none" in xorriso(disc, "-report_el_torito", "plain")
    xorriso(disc, "-extract", "/", str(tmp_path / "tree"))
    (tmp_path / "tree").chmod(0o755)
    assert (tmp_path / "tree/vmlinuz").read_bytes() == b"a kernel"
    assert agent_binary().read_bytes() in (tmp_path / "tree/initrd").read_bytes()
    menu = (tmp_path / "tree/isolinux.cfg").read_text()
    assert "vtax.control=ttyS0" in menu
    assert "console=ttyS0" not in menu


@pytest.mark.slow
def test_it_is_made_once_and_old_ones_go(kernel: Kernel, tmp_path: Path) -> None:
    disc = build_disc(kernel, ())
    made = disc.stat().st_mtime_ns, disc.stat().st_ino
    build_disc.cache_clear()
    assert build_disc(kernel, ()).stat().st_ino == made[1]
    for number in range(boot_disc.KEEP):
        build_disc.cache_clear()
        (tmp_path / "boot/vmlinuz-6.1").write_text(f"kernel {number}")
        build_disc(kernel, ())
    assert not disc.exists()
    assert len(list(disc.parent.iterdir())) == boot_disc.KEEP


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boot_disc, "FILES", {Path("/nowhere/isolinux.bin"): "isolinux"})
    with pytest.raises(
        PlatformUnusable, match=r"no /nowhere/isolinux\.bin.*install --yes --reinstall isolinux"
    ):
        check_disc()


@pytest.mark.slow
def test_a_disc_that_cannot_be_mastered_leaves_none(kernel: Kernel, commands: Path, tmp_path: Path) -> None:
    (commands / "xorriso").write_text("#!/bin/sh\necho 'xorriso : FAILURE : no room' >&2\nexit 5\n")
    (commands / "xorriso").chmod(0o755)
    with pytest.raises(PlatformUnusable, match="mastering a disc failed: xorriso : FAILURE : no room"):
        build_disc(kernel, ())
    assert list((tmp_path / "cache/disc").iterdir()) == []
