"""User namespaces: users of a guest are ids of this machine that nobody has, and its root has rights inside only."""

import contextlib
import subprocess
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

IDS = 65536
"""As many as a user namespace usually maps: those of packages' users, and nobody's (65534)."""
FIRST, LAST = 0x80000, 0x6FFF0000
"""Where systemd keeps ids for containers (its document UIDS-GIDS); no package's user is there."""


@dataclass(frozen=True)
class IdRange:
    """Ids of this machine that stand for 0, 1 and so on inside."""

    first: int

    @classmethod
    def of(cls, name: str) -> "IdRange":
        """The range that goes with a name: guests of different names hardly ever share one."""
        ranges = (LAST - FIRST) // IDS
        return cls(FIRST + zlib.crc32(name.encode()) % ranges * IDS)

    @property
    def line(self) -> str:
        """What /proc/PID/uid_map and gid_map take."""
        return f"0 {self.first} {IDS}\n"


@dataclass(frozen=True)
class Namespaces:
    """A user namespace, and a network namespace that belongs to it, as files that setns takes."""

    user: Path
    network: Path
    ids: IdRange


@contextlib.contextmanager
def hold_namespaces(ids: IdRange) -> Iterator[Namespaces]:
    """Make a user namespace with a network of its own; its files are there as long as this is entered.

    A process holds them, since threads cannot enter user namespaces; it ends with the pipe that it reads. What has
    joined them, or mounted them, keeps them.
    """
    command = ["unshare", "--user", "--net", "--", "cat"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as holder:
        assert holder.stdin and holder.stdout  # noqa: S101 - pipes were asked for
        holder.stdin.write(b"\n")
        if not holder.stdout.read(1):  # it has what it was to make once it answers
            raise OSError(f"{' '.join(command)} exited {holder.wait()}")
        process = Path(f"/proc/{holder.pid}")
        for file in ("uid_map", "gid_map"):
            (process / file).write_text(ids.line)
        yield Namespaces(process / "ns/user", process / "ns/net", ids)
