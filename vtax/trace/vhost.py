"""Who serves a tap: a process that writes to it, or a kernel thread of vhost, whose writes no hook sees."""

from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")
VHOST = "/dev/vhost-net"


def served_by_vhost(tap: str, proc: Path = PROC) -> bool:
    """Whether a process that holds the tap has a vhost device open as well. Processes out of reach are passed over."""
    return any(_opens(process, VHOST) for process in _holders(tap, proc))


def _holders(tap: str, proc: Path) -> Iterator[Path]:
    """Processes with a descriptor of the tap, as fdinfo tells (`iff:`, linux/drivers/net/tun.c)."""
    for process in proc.glob("[0-9]*"):
        for info in _entries(process / "fdinfo"):
            if f"iff:\t{tap}\n" in _text(info):
                yield process
                break


def _opens(process: Path, device: str) -> bool:
    return any(_target(handle) == device for handle in _entries(process / "fd"))


def _entries(directory: Path) -> list[Path]:
    try:
        return list(directory.iterdir())
    except OSError:
        return []


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _target(handle: Path) -> str:
    try:
        return str(handle.readlink())
    except OSError:
        return ""
