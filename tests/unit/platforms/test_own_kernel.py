"""Kernels and initrds of the user's own: what is read of them, which modules go in, and what is found missing."""

import bz2
import contextlib
import gzip
import lzma
import struct
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtax.inputs.own_file import find_file
from vtax.machine.agent import AgentGone
from vtax.platforms import PlatformUnusable, initrd, own_kernel, qemu
from vtax.platforms.cpio import newc_archive
from vtax.platforms.image import pack_image
from vtax.platforms.initrd import Unpacked, read_initrd
from vtax.platforms.modules import load_order
from vtax.platforms.own_kernel import OwnKernel, image_version, naming_needs, require_nics

RELEASE = "6.9.1-mine"
NET, FAILOVER = "kernel/drivers/net/virtio_net.ko.xz", "kernel/net/core/failover.ko"
DEPENDENCIES = f"{NET}: {FAILOVER}\n{FAILOVER}:\n"
BUILT_IN = "kernel/drivers/virtio/virtio-console.ko\n"


def zstd(content: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return bytes(sink.getvalue())


def archive(release: str = RELEASE, built_in: str | None = BUILT_IN, root: str = "lib") -> bytes:
    files = {
        "modules.dep": DEPENDENCIES.encode(),
        NET: lzma.compress(b"net"),
        FAILOVER: b"failover",
        **({} if built_in is None else {"modules.builtin": built_in.encode()}),
    }
    return newc_archive(
        [root], {f"{root}/modules/{release}/{name}": (0o100644, data) for name, data in files.items()}
    )


def written(tmp_path: Path, content: bytes, name: str = "initrd") -> str:
    path = tmp_path / name
    path.write_bytes(content)
    return str(path)


def bz_image(version: bytes) -> bytes:
    head = bytearray(0x400)
    head[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", head, 0x20E, 0x100)
    return bytes(head[:0x300]) + version + b"\0" + bytes(0x100)


class TestInitrd:
    @pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress, bz2.compress, zstd])
    def test_modules_go_in_behind_what_they_need(
        self, compress: Callable[[bytes], bytes], tmp_path: Path
    ) -> None:
        """Behind an archive of microcode, as distributions have it."""
        early = newc_archive(["kernel"], {"kernel/x86/microcode/GenuineIntel.bin": (0o100644, b"code")})
        read = read_initrd(written(tmp_path, early + bytes(512) + compress(archive())))
        assert read.load_order(RELEASE, "virtio_net") == [
            Unpacked("failover.ko", b"failover"),
            Unpacked("virtio_net.ko", b"net"),
        ]
        assert read.load_order(RELEASE, "virtio_console") == []
        assert read.load_order(RELEASE, "e1000") is None
        assert len(read.archive) % 512 == 0

    def test_several_kernels_may_have_their_modules_in_it(self, tmp_path: Path) -> None:
        content = gzip.compress(archive("6.1")) + gzip.compress(archive("6.3", root="./usr/lib"))
        assert {*read_initrd(written(tmp_path, content)).modules} == {"6.1", "6.3"}

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"\x02!L\x18lz4", "compressed in an unknown way, or no archive"),
            (archive()[:200], "cut off"),
            (gzip.compress(archive())[:-40], "cut off"),
            (b"070701" + b"x" * 200, "invalid literal"),
            (b"070701" + b"-fffffff" * 13 + bytes(200), "no cpio header"),
            (b"\xfd7zXZ\x00 no more", "cannot be unpacked"),
        ],
    )
    def test_what_cannot_be_unpacked_is_named(self, content: bytes, said: str, tmp_path: Path) -> None:
        with pytest.raises(PlatformUnusable, match=said):
            read_initrd(written(tmp_path, content))

    def test_what_has_no_end_is_not_unpacked_to_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(initrd, "MOST_BYTES", 1000)
        for compress in (gzip.compress, lzma.compress, bz2.compress, zstd):
            with pytest.raises(PlatformUnusable, match="more than 1000 bytes"):
                read_initrd(written(tmp_path, compress(bytes(10_000))))

    def test_modules_without_their_list_are_refused(self, tmp_path: Path) -> None:
        content = newc_archive([], {f"lib/modules/{RELEASE}/a.ko": (0o100644, b"a")})
        with pytest.raises(
            PlatformUnusable, match=r"no modules\.dep of theirs; needs what `depmod -b ROOT 6\.9\.1"
        ):
            read_initrd(written(tmp_path, content))

    def test_a_listed_module_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        content = newc_archive([], {f"lib/modules/{RELEASE}/modules.dep": (0o100644, DEPENDENCIES.encode())})
        with pytest.raises(PlatformUnusable, match=r"names kernel/net/core/failover\.ko in modules\.dep"):
            read_initrd(written(tmp_path, content)).load_order(RELEASE, "virtio_net")

    @given(
        st.binary(max_size=400), st.sampled_from([b"", b"070701", b"\x1f\x8b", b"BZh9", b"\x28\xb5\x2f\xfd"])
    )
    def test_any_content_is_read_or_refused(self, content: bytes, magic: bytes) -> None:
        with contextlib.suppress(PlatformUnusable):
            initrd._parsed("/initrd", "", magic + content)

    def test_the_agent_stays_a_guests_first_process(self, tmp_path: Path, cache: Path) -> None:
        """What is in a later archive stays."""
        theirs = newc_archive([], {"init": (0o100755, b"theirs")})
        image = pack_image({"control": []}, initrd=read_initrd(written(tmp_path, theirs))).read_bytes()
        assert image.startswith(theirs)
        assert image.rindex(b"init\0") > len(theirs)
        assert b"ELF" in image[len(theirs) :]


class TestKernel:
    def test_its_version_stands_in_its_image(self, tmp_path: Path) -> None:
        image = bz_image(b"6.9.1-mine (me@here) #1 SMP")
        assert image_version(written(tmp_path, image)) == RELEASE
        elf = b"\x7fELF" + bytes(100_000) + b"Linux version 6.9.1-mine (me@here)"
        assert image_version(written(tmp_path, elf)) == RELEASE

    @pytest.mark.parametrize(
        "content", [b"", b"#!/bin/sh", b"\x7fELF", bz_image(b""), bz_image(b"\x1b[31m6.9")]
    )
    def test_what_is_no_kernel_is_named(self, content: bytes, tmp_path: Path) -> None:
        with pytest.raises(PlatformUnusable, match="is no kernel for x86: neither a bzImage nor an ELF file"):
            image_version(written(tmp_path, content))

    def test_modules_are_those_of_its_release(self, tmp_path: Path) -> None:
        path = written(tmp_path, archive())
        with pytest.raises(PlatformUnusable, match=r"has modules of 6\.9\.1-mine, and /k is 6\.9\.2"):
            own_kernel.own_kernel("/k", "6.9.2", path)
        image = written(tmp_path, b"", "bzImage")
        kernel = own_kernel.own_kernel(image, RELEASE, path)
        assert len(kernel.load_order("virtio_net")) == 2
        assert kernel.unknown(["virtio_net", "virtio_pci"]) == []
        with pytest.raises(
            PlatformUnusable, match=rf"kernel {RELEASE} has no module virtio_pci, and platform.initrd"
        ):
            kernel.load_order("virtio_pci")

    def test_without_a_list_of_them_modules_are_taken_as_built_in(self, tmp_path: Path) -> None:
        image = written(tmp_path, b"", "bzImage")
        bare = own_kernel.own_kernel(image, RELEASE, None)
        assert bare.load_order("virtio_net") == []
        assert bare.unknown(["virtio_net"]) == ["virtio_net"]
        part = own_kernel.own_kernel(image, RELEASE, written(tmp_path, archive(built_in=None)))
        assert part.unknown(["virtio_net", "virtio_pci"]) == ["virtio_pci"]

    def test_a_packages_kernel_takes_its_own_where_the_initrd_has_none(self, tmp_path: Path) -> None:
        package: Any = SimpleNamespace(
            version=RELEASE, vmlinux=Path("/vmlinux"), load_order=lambda name: [Path(f"/{name}.ko")]
        )
        assert own_kernel.with_initrd(package, None) is package
        kernel = own_kernel.with_initrd(package, written(tmp_path, archive()))
        assert isinstance(kernel, OwnKernel)
        assert kernel.load_order("e1000") == [Path("/e1000.ko")]
        assert len(kernel.load_order("virtio_net")) == 2

    def test_builds_of_one_version_are_told_apart(self, tmp_path: Path) -> None:
        one, other = (
            own_kernel.own_kernel(written(tmp_path, text, text.decode()), RELEASE, None)
            for text in (b"a", b"b")
        )
        assert one.identity != other.identity


class TestLacking:
    KERNEL = OwnKernel(RELEASE, Path("/bzImage"))

    def test_a_guest_that_is_not_heard_is_told_what_it_takes(self) -> None:
        with (
            pytest.raises(AgentGone) as raised,
            naming_needs(self.KERNEL, ["virtio_pci", "virtio_console"]),
        ):
            raise AgentGone("guest: its stream ended before it said hello\nreboot: Power down")
        first, last = str(raised.value).splitlines()
        assert first == (
            "guest: its stream ended before it said hello; kernel 6.9.1-mine has to have CONFIG_BLK_DEV_INITRD, "
            "CONFIG_DEVTMPFS, virtio_pci, virtio_console"
        )
        assert last == "reboot: Power down"

    def test_of_a_packages_kernel_nothing_is_added(self) -> None:
        kernel: Any = SimpleNamespace(version=RELEASE)
        with pytest.raises(AgentGone, match=r"^gone$"), naming_needs(kernel, ["virtio_pci"]):
            raise AgentGone("gone")

    def test_a_nic_that_no_driver_finds_ends_the_guest(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(own_kernel, "NIC_LIMIT_S", 0.2)
        stopped: list[bool] = []
        links = [SimpleNamespace(mac="00:00:00:00:00:00")]
        api = SimpleNamespace(guest_state=lambda: SimpleNamespace(interfaces=links))
        guest: Any = SimpleNamespace(agent=SimpleNamespace(api=api), stop=lambda: stopped.append(True))
        plan: Any = SimpleNamespace(nics=[SimpleNamespace(mac="52:54:00:00:00:01")])
        require_nics(self.KERNEL, "virtio_net", ["virtio_net.ko"], guest, plan)
        with pytest.raises(
            AgentGone,
            match=r"finds no NIC: it has to have virtio_net built in, or as a module in platform\.initrd",
        ):
            require_nics(self.KERNEL, "virtio_net", (), guest, plan)
        assert stopped == [True]
        links.append(SimpleNamespace(mac="52:54:00:00:00:01"))
        require_nics(self.KERNEL, "virtio_net", (), guest, plan)


def test_the_order_of_modules_is_that_of_depmod() -> None:
    assert load_order("a/x-y.ko.zst: a/z.ko a/w.ko\n", "", "x_y") == ["a/w.ko", "a/z.ko", "a/x-y.ko.zst"]
    assert load_order("", "k/ipv6.ko\n", "ipv6") == []
    assert load_order("a/xx.ko:\n", "k/yy.ko\n", "x") is None


def test_who_reads_a_file_decides_who_has_to_reach_it(tmp_path: Path) -> None:
    assert qemu.Config().shared_files == {"binary", "kernel", "initrd"}
    assert qemu.Config(isolation="none").shared_files == {"initrd"}
    tmp_path.chmod(0o700)
    image = tmp_path / "bzImage"
    image.write_bytes(b"")
    about = qemu.Config.file_keys()["kernel"]
    find_file(str(image), about, open_to_all=True)  # an emulator has it by a descriptor


def test_a_kernel_is_a_word_or_a_path() -> None:
    assert qemu.Config(kernel="/boot/vmlinuz").own_files == {"kernel": "/boot/vmlinuz"}
    assert qemu.Config(kernel="backports").own_files == {}
    with pytest.raises(ValueError, match='"backport" is not allowed; did you mean "backports"') as raised:
        qemu.Config(kernel="backport")
    assert "allowed: distribution, backports" in str(raised.value)
