"""A disk with a cache: what of a recorded program's changes it may hold after a loss of power.

What was flushed stays. Of what was not, each change of a directory's names is there or is not; each write is there,
in part, or not, with zeros or the old bytes in its place; a later one may be there without an earlier one. Nothing is
assumed of file systems beyond POSIX: flushing a file makes its name no more durable than any other.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple

SECTOR_BYTES = 512


class Change(NamedTuple):
    """A line of the record; `recorder.c` says what the letters are."""

    what: str
    inode: int
    start: int
    size: int
    paths: list[str]
    content: bytes


def read_record(path: Path) -> list[Change]:
    """Return all changes of a record."""
    found = []
    with path.open("rb") as file:
        for line in file:
            what, inode, start, size, paths = line.decode().rstrip("\n").split(" ", 4)
            content = file.read(int(size)) if what == "W" else b""
            found.append(Change(what, int(inode), int(start), int(size), paths.split("\t"), content))
    return found


@dataclass
class File:
    """Its content as it is flushed, and all that was done to it since."""

    flushed: bytes = b""
    waiting: list[Change] = field(default_factory=list)

    def flush(self) -> None:
        content = bytearray(self.flushed)
        for change in self.waiting:
            _apply(content, change)
        self.flushed, self.waiting = bytes(content), []

    def left(self, chance: Random, kept: float) -> bytes:
        """What may be left of it, where a share `kept` of what was not flushed has arrived."""
        content = bytearray(self.flushed)
        for change in self.waiting:
            if chance.random() < kept:
                _apply(content, change)
            elif change.what == "W" and chance.random() < 0.5:
                end = change.start + change.size
                content.extend(bytes(max(0, end - len(content))))
                for begin in range(change.start - change.start % SECTOR_BYTES, end, SECTOR_BYTES):
                    if chance.random() < kept:
                        first, last = max(begin, change.start), min(begin + SECTOR_BYTES, end)
                        content[first:last] = change.content[first - change.start : last - change.start]
        return bytes(content)


def _apply(content: bytearray, change: Change) -> None:
    if change.what == "T":
        del content[change.start :]
        content.extend(bytes(change.start - len(content)))
    else:
        content.extend(bytes(max(0, change.start - len(content))))
        content[change.start : change.start + change.size] = change.content


Names = dict[str, "File | Directory"]


@dataclass
class Directory:
    """Its names as they are flushed, and all that was done to them since."""

    flushed: Names = field(default_factory=dict)
    waiting: list[Callable[[Names], object]] = field(default_factory=list)

    def flush(self) -> None:
        for change in self.waiting:
            change(self.flushed)
        self.waiting = []

    def left(self, chance: Random, kept: float) -> Names:
        names = dict(self.flushed)
        for change in self.waiting:
            if chance.random() < kept:
                change(names)
        return names


class Disk:
    """The disk below a directory, change by change. `is_lost` says which flushes it never gets."""

    def __init__(self, root: Path, is_lost: Callable[[Change, str], bool] = lambda *_: False) -> None:
        self._root = Directory()
        self._live: dict[str, File | Directory] = {str(root): self._root}
        self._by_inode: dict[int, File | Directory] = {root.stat().st_ino: self._root}
        self._is_lost = is_lost

    def carry_out(self, change: Change) -> None:
        """Take in the next change."""
        match change.what:
            case "C" | "M":
                made = self._by_inode[change.inode] = File() if change.what == "C" else Directory()
                self._live[change.paths[0]] = made
                self._name(change.paths[0], lambda names, name: names.update({name: made}))
            case "W" | "T":
                self._file(change.inode).waiting.append(change)
            case "S":
                flushed = self._by_inode[change.inode]
                if not self._is_lost(change, self._path_of(flushed)):
                    flushed.flush()
            case "U":
                del self._live[change.paths[0]]
                self._name(change.paths[0], lambda names, name: names.pop(name, None))
            case "R":
                old, new = change.paths
                moved = self._live[new] = self._live.pop(old)
                former = Path(old).name
                assert Path(old).parent == Path(new).parent, "a name moves within its directory only"
                self._name(new, lambda names, name: (names.update({name: moved}), names.pop(former, None)))
            case what:
                raise AssertionError(f"the program did what is not recorded: {what} {change.paths}")

    def write_all(self, place: Path) -> None:
        """Make in `place` what the disk holds where power stays."""
        _write(self._root, place, Random(0), 1.0)  # noqa: S311

    def write_left(self, place: Path, chance: Random) -> None:
        """Make in `place` what the disk may hold if power is lost now."""
        _write(self._root, place, chance, chance.choice([0.0, 0.2, 0.5, 0.8, 1.0]))

    def _file(self, inode: int) -> File:
        found = self._by_inode[inode]
        assert isinstance(found, File)
        return found

    def _name(self, path: str, change: Callable[[Names, str], object]) -> None:
        above, name = self._live[str(Path(path).parent)], Path(path).name
        assert isinstance(above, Directory)
        above.waiting.append(lambda names: change(names, name))

    def _path_of(self, searched: File | Directory) -> str:
        return next(path for path, found in self._live.items() if found is searched)


def _write(directory: Directory, place: Path, chance: Random, kept: float) -> None:
    for name, found in directory.left(chance, kept).items():
        if isinstance(found, Directory):
            (place / name).mkdir()
            _write(found, place / name, chance, kept)
        else:
            (place / name).write_bytes(found.left(chance, kept))


def files_below(place: Path) -> Iterator[tuple[str, bytes]]:
    """Each file with its content."""
    for path in sorted(place.rglob("*")):
        if path.is_file():
            yield str(path.relative_to(place)), path.read_bytes()
