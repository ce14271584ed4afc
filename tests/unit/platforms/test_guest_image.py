"""Guests' kernels and initramfs images."""

import gzip
import lzma
import os
import shutil
import struct
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.helpers.cpio import archived
from vtax.platforms.contract import PlatformUnusable
from vtax.platforms.cpio import newc_archive
from vtax.platforms.image import build_image, pack_image
from vtax.platforms.kernel import Kernel, extract_vmlinux

ELF = b"\x7fELF" + bytes(range(256)) * 64


def boot_image(payload: bytes, setup_sectors: int = 3) -> bytes:
    """A bzImage by its header, with something before and after its payload."""
    before, size = b"\xfd7zXZ\x00 no kernel here", len(ELF).to_bytes(4, "little")
    header = bytearray(512 * (setup_sectors + 1))
    header[0x1F1] = setup_sectors
    header[0x202:0x206] = b"HdrS"
    header[0x248:0x250] = struct.pack("<II", len(before), len(payload + size))
    return bytes(header) + before + payload + size + b"trailing signature"


@pytest.mark.parametrize("setup_sectors", [1, 39])
@pytest.mark.parametrize(
    "compress", [lzma.compress, gzip.compress, lambda data: pa.compress(data, codec="zstd", asbytes=True)]
)
def test_a_kernel_is_found_inside_its_boot_image(compress, setup_sectors: int) -> None:  # type: ignore[no-untyped-def]
    assert extract_vmlinux(boot_image(compress(ELF), setup_sectors)) == ELF


@given(st.binary(max_size=2000).flatmap(lambda data: st.sampled_from([data, boot_image(data)])))
@example(boot_image(lzma.compress(ELF)[:-40]))
@example(boot_image(gzip.compress(b"no kernel")))
@example(boot_image(b"\x28\xb5\x2f\xfd and no more"))
@example(boot_image(lzma.compress(ELF))[:0x249])
def test_an_image_without_a_kernel_is_refused(image: bytes) -> None:
    with pytest.raises(PlatformUnusable, match="compressed in an unknown way"):
        extract_vmlinux(image)


@pytest.mark.usefixtures("able")
def test_the_agent_finds_modules_uncompressed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VTAX_CACHE", str(tmp_path))
    (tmp_path / "needed.ko").write_bytes(b"plain")
    (tmp_path / "driver.ko.xz").write_bytes(lzma.compress(b"compressed"))
    image = pack_image({"driver": [tmp_path / "needed.ko", tmp_path / "driver.ko.xz"]})
    entries = dict(archived(image.read_bytes()))
    assert entries["modules/driver.list"] == b"/modules/needed.ko\n/modules/driver.ko\n"
    assert (entries["modules/needed.ko"], entries["modules/driver.ko"]) == (b"plain", b"compressed")


@given(
    st.dictionaries(
        st.text("abcdefgh", min_size=1, max_size=20),
        st.tuples(st.sampled_from([0o100644, 0o100755]), st.binary(max_size=50)),
    )
)
def test_archives_hold_every_file_at_aligned_offsets(files: dict[str, tuple[int, bytes]]) -> None:
    archive = newc_archive(["modules"], files)
    assert len(archive) % 4 == 0
    entries = dict(archived(archive))
    assert entries.pop("modules") == b""
    assert entries == {name: data for name, (_, data) in files.items()}


@pytest.mark.slow
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


@pytest.mark.usefixtures("able")
def test_another_user_can_read_an_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The emulator is one, whatever the umask that vtax was started with."""
    monkeypatch.setenv("VTAX_CACHE", str(tmp_path))
    before = os.umask(0o077)
    try:
        image = pack_image({})
    finally:
        os.umask(before)
    assert image.stat().st_mode & 0o777 == 0o644


class WithoutModules(Kernel):
    """One that has everything built in."""

    def load_order(self, module: str) -> list[Path]:
        return []


@pytest.mark.usefixtures("able")
def test_an_image_that_others_have_had_removed_is_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight are kept, of all that build some on this machine."""
    monkeypatch.setenv("VTAX_CACHE", str(tmp_path))
    kernel = WithoutModules("6.1", "linux-image", tmp_path)
    image = build_image(kernel, ())
    image.unlink()
    assert build_image(kernel, ()) == image
    assert image.exists()
