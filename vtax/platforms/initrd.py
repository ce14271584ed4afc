"""An initrd of the user's own: archives that the kernel unpacks before vtax's own, and the modules that are in them.

Linux unpacks archives in a row, each compressed or not, and what is in a later one stays. So the agent is a guest's
first process whatever is in them (Linux Documentation/driver-api/early-userspace/buffer-format.rst).
"""

import bz2
import hashlib
import lzma
import re
import stat
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath

from vtax.inputs import one_line
from vtax.inputs.own_file import hash_file
from vtax.platforms.contract import PlatformUnusable
from vtax.platforms.modules import load_order

MOST_BYTES = 1 << 30
"""Of an initrd when it is unpacked: as much as guests of the most memory bear easily."""
HEADER_BYTES = 110
MAGICS = (b"070701", b"070702")
TRAILER = "TRAILER!!!"
MODULES = re.compile(r"(?:usr/)?lib/modules/([^/]+)/(.+)")
ALIGNMENT = 512
"""Archives begin at a multiple of 4 bytes; zeros between them are passed over."""


@dataclass(frozen=True)
class Unpacked:
    """A module as the agent inserts it, and its file's name."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Entry:
    """An entry of an archive: its path from the root, its mode, and its content."""

    name: str
    mode: int
    data: bytes


@dataclass(frozen=True)
class Initrd:
    """An initrd, known by its hash."""

    sha256: str
    archive: bytes = field(compare=False, repr=False)
    """Whole, up to where another archive may begin."""
    unpacked_bytes: int = field(compare=False)
    modules: Mapping[str, Mapping[str, bytes]] = field(compare=False, repr=False)
    """Files of lib/modules, by the kernel's release and their path below that."""

    @property
    def memory_bytes(self) -> int:
        """What it takes of a guest's memory at its start: the archive, and what is unpacked of it; whole MiB."""
        return -(-(len(self.archive) + self.unpacked_bytes) >> 20) << 20

    def load_order(self, release: str, name: str) -> list[Unpacked] | None:
        """Files to insert for a module of that kernel, what it needs first; None where it has no such module."""
        files = self.modules[release]
        dependencies, built_in = (
            files.get(name, b"").decode(errors="replace") for name in ("modules.dep", "modules.builtin")
        )
        order = load_order(dependencies, built_in, name)
        if order is None:
            return None
        lacking = [path for path in order if path not in files]
        if lacking:
            raise PlatformUnusable(
                one_line(f"the initrd names {lacking[0]} in modules.dep of {release} and lacks it"),
                "needs it in the initrd",
            )
        return [Unpacked(*_uncompressed(path, files[path])) for path in order]

    def names_built_in(self, release: str) -> bool:
        """Whether it says what that kernel has built in, so that another module is nowhere."""
        return "modules.builtin" in self.modules[release]


def read_initrd(path: str) -> Initrd:
    """Read an initrd; raises PlatformUnusable for one that cannot be unpacked."""
    return _read(path, hash_file(path))


@lru_cache(maxsize=4)
def _read(path: str, sha256: str | None) -> Initrd:
    if (size := Path(path).stat().st_size) > MOST_BYTES:
        raise PlatformUnusable(one_line(f"{path} has {size} bytes"), f"needs at most {MOST_BYTES}")
    content = Path(path).read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise PlatformUnusable(
            one_line(f"{path} changed while it was read"), "needs a file that nobody writes"
        )
    return _parsed(path, sha256, content)


def _parsed(path: str, sha256: str, content: bytes) -> Initrd:
    size = 0
    modules: dict[str, dict[str, bytes]] = {}
    try:
        for entry in _entries(content):
            size += len(entry.data)
            if (found := MODULES.fullmatch(entry.name)) and stat.S_ISREG(entry.mode):
                modules.setdefault(found[1], {})[found[2]] = entry.data
    except (ValueError, EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        raise PlatformUnusable(
            one_line(f"{path} cannot be unpacked: {error}"),
            "needs cpio archives (cpio -o -H newc), plain or compressed with gzip, xz, bzip2 or zstd",
        ) from error
    for release, files in modules.items():
        if "modules.dep" not in files:
            raise PlatformUnusable(
                one_line(f"{path} has modules of {release} and no modules.dep of theirs"),
                f"needs what `depmod -b ROOT {release}` writes",
            )
    return Initrd(sha256, content + b"\0" * (-len(content) % ALIGNMENT), size, modules)


def _entries(content: bytes) -> Iterator[Entry]:
    """The entries of archives in a row, compressed or not."""
    left = MOST_BYTES
    while content := content.lstrip(b"\0"):
        if content.startswith(MAGICS):
            content = yield from _archive(content)
            continue
        unpack = next((way for magic, way in COMPRESSED.items() if content.startswith(magic)), None)
        if unpack is None:
            raise ValueError("it is compressed in an unknown way, or no archive")
        inner, content = unpack(content, left)
        left -= len(inner)
        if left <= 0:
            raise ValueError(f"it has more than {MOST_BYTES} bytes when it is unpacked")
        while inner := inner.lstrip(b"\0"):  # the kernel unpacks nothing twice either
            inner = yield from _archive(inner)


def _archive(content: bytes) -> Generator[Entry, None, bytes]:
    """The entries of the archive that `content` begins with; returns what follows it."""
    at = 0
    while True:
        header = content[at : at + HEADER_BYTES]
        if len(header) < HEADER_BYTES or not header.startswith(MAGICS):
            raise ValueError("an archive in it is cut off, or of another format")
        fields = [int(header[start : start + 8], 16) for start in range(6, HEADER_BYTES, 8)]
        if min(fields) < 0:
            raise ValueError("a header in it is no cpio header")
        mode, size, name_size = fields[1], fields[6], fields[11]
        begins = _aligned(at + HEADER_BYTES + name_size)
        if begins + size > len(content):
            raise ValueError("an archive in it is cut off")
        name = (
            content[at + HEADER_BYTES : at + HEADER_BYTES + name_size].rstrip(b"\0").decode(errors="replace")
        )
        at = _aligned(begins + size)
        if name == TRAILER:
            return content[at:]
        yield Entry(
            "/".join(part for part in name.split("/") if part not in ("", ".")),
            mode,
            content[begins : begins + size],
        )


def _aligned(offset: int) -> int:
    return -(-offset // 4) * 4


def _uncompressed(path: str, content: bytes) -> tuple[str, bytes]:
    """A module's name and content as the agent inserts it."""
    unpack = next((way for magic, way in COMPRESSED.items() if content.startswith(magic)), None)
    name = PurePosixPath(path).name
    return (name, content) if unpack is None else (PurePosixPath(name).stem, unpack(content, MOST_BYTES)[0])


def _gunzip(content: bytes, most: int) -> tuple[bytes, bytes]:
    unpacker = zlib.decompressobj(wbits=31)
    return unpacker.decompress(content, most), unpacker.unused_data


def _unxz(content: bytes, most: int) -> tuple[bytes, bytes]:
    unpacker = lzma.LZMADecompressor(format=lzma.FORMAT_XZ)
    return unpacker.decompress(content, most), unpacker.unused_data


def _bunzip(content: bytes, most: int) -> tuple[bytes, bytes]:
    unpacker = bz2.BZ2Decompressor()
    return unpacker.decompress(content, most), unpacker.unused_data


def _unzstd(content: bytes, most: int) -> tuple[bytes, bytes]:
    """All of it: where a frame ends is not told, and nothing follows one in initrds."""
    import pyarrow as pa  # of results else; a host takes part without it

    with pa.CompressedInputStream(pa.BufferReader(content), "zstd") as stream:
        return stream.read(most), b""


COMPRESSED: dict[bytes, Callable[[bytes, int], tuple[bytes, bytes]]] = {
    b"\x1f\x8b": _gunzip,
    b"\xfd7zXZ\x00": _unxz,
    b"BZh": _bunzip,
    b"\x28\xb5\x2f\xfd": _unzstd,
}
"""What takes apart the beginning of so many bytes, by what it begins with: it returns that, and what follows."""
