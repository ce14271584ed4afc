"""Guests' kernels and initramfs images."""

import gzip
import lzma
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtax.platforms.contract import PlatformUnusable
from vtax.platforms.image import newc_archive
from vtax.platforms.kernel import extract_vmlinux

ELF = b"\x7fELF" + bytes(range(256)) * 64


@pytest.mark.parametrize("compress", [lzma.compress, gzip.compress])
def test_a_kernel_is_found_inside_its_boot_image(compress) -> None:  # type: ignore[no-untyped-def]
    decoy = b"\xfd7zXZ\x00 no kernel here \x1f\x8b"
    assert extract_vmlinux(b"MZ" + decoy + compress(ELF) + b"trailing signature") == ELF


@given(st.binary(max_size=2000))
def test_an_image_without_a_kernel_is_refused(image: bytes) -> None:
    with pytest.raises(PlatformUnusable, match="compressed in an unknown way"):
        extract_vmlinux(image)


@given(
    st.dictionaries(
        st.text("abcdefgh", min_size=1, max_size=20),
        st.tuples(st.sampled_from([0o100644, 0o100755]), st.binary(max_size=50)),
    )
)
def test_archives_hold_every_file_at_aligned_offsets(files: dict[str, tuple[int, bytes]]) -> None:
    archive = newc_archive(["modules"], files)
    assert len(archive) % 4 == 0
    entries = dict(_entries(archive))
    assert entries.pop("modules") == b""
    assert entries == {name: data for name, (_, data) in files.items()}


def test_the_kernels_own_unpacker_agrees(tmp_path: Path) -> None:
    """Python's tarfile has no cpio; the cpio command reads what Linux reads."""
    cpio = shutil.which("cpio")
    if cpio is None:
        pytest.fail("no cpio command found; apt-get install cpio")
    archive = newc_archive(["modules"], {"init": (0o100755, b"#!x"), "modules/a.ko": (0o100644, b"\x00\x01")})
    subprocess.run([cpio, "-i", "--quiet"], input=archive, cwd=tmp_path, check=True)
    assert (tmp_path / "init").read_bytes() == b"#!x"
    assert (tmp_path / "init").stat().st_mode & 0o111
    assert (tmp_path / "modules/a.ko").read_bytes() == b"\x00\x01"


def _entries(archive: bytes):  # type: ignore[no-untyped-def]
    at = 0
    while True:
        fields = [int(archive[at + 6 + 8 * index : at + 14 + 8 * index], 16) for index in range(13)]
        size, name_size = fields[6], fields[11]
        name = archive[at + 110 : at + 110 + name_size - 1].decode()
        data_at = (at + 110 + name_size + 3) & ~3
        if name == "TRAILER!!!":
            return
        yield name, archive[data_at : data_at + size]
        at = (data_at + size + 3) & ~3
