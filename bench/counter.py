"""Frames and their rate at the far end of the way, counted there by one BPF program whoever sent them."""

import contextlib
import json
import platform
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vtax.machine.namespace import Namespace

SOURCE = Path(__file__).with_name("count.bpf.c")


@dataclass(frozen=True)
class Counted:
    """Frames of the length under test, and their rate once it has settled; None where too few came."""

    frames: int
    fps: float | None


@dataclass(frozen=True)
class Counter:
    """A counting program in place."""

    map_id: int

    def read(self) -> Counted:
        """What came since the program is in place."""
        (entry,) = json.loads(_run("bpftool", "-j", "map", "dump", "id", str(self.map_id)))
        value = entry["formatted"]["value"]
        elapsed_ns = value["last_ns"] - value["first_ns"]
        frames = value["last_frames"] - value["first_frames"]
        return Counted(value["frames"], frames / elapsed_ns * 1e9 if elapsed_ns > 0 else None)


@contextlib.contextmanager
def counted(
    namespace: Namespace, interface: str, frame_bytes: int, directory: Path, *, at: str = "tc"
) -> Iterator[Counter]:
    """Count and drop frames of one length at an interface, at `tc` or at `xdp`, while the block lasts."""
    program = _built(frame_bytes, directory)
    inside = ["nsenter", f"--net={namespace.path}", "--"]
    link = [*inside, "ip", "link", "set", "dev", interface]
    qdisc = [*inside, "tc", "qdisc"]
    place = ["dev", interface, "clsact"]
    if at == "xdp":
        _run(*link, "xdpdrv", "object", str(program), "section", "xdp")
        shown = json.loads(_run(*inside, "ip", "-j", "link", "show", "dev", interface))
        program_id, remove = shown[0]["xdp"]["prog"]["id"], [*link, "xdpdrv", "off"]
    else:
        _run(*qdisc, "add", *place)
        bpf = ["bpf", "direct-action", "object-file", str(program), "section", "tc"]
        _run(*inside, "tc", "filter", "add", "dev", interface, "ingress", *bpf)
        shown = json.loads(_run(*inside, "tc", "-j", "filter", "show", "dev", interface, "ingress"))
        (program_id,) = (entry["options"]["prog"]["id"] for entry in shown if "options" in entry)
        remove = [*qdisc, "del", *place]
    try:
        (map_id,) = json.loads(_run("bpftool", "-j", "prog", "show", "id", str(program_id)))["map_ids"]
        yield Counter(map_id)
    finally:
        _run(*remove)


def _built(frame_bytes: int, directory: Path) -> Path:
    program = directory / f"count-{frame_bytes}.o"
    if not program.exists():
        include = f"-I/usr/include/{platform.machine()}-linux-gnu"  # asm/types.h
        options = ["-target", "bpf", "-O2", "-g", "-Wall", "-Werror", f"-DFRAME_BYTES={frame_bytes}", include]
        _run("clang", *options, "-c", str(SOURCE), "-o", str(program))
    return program


def _run(*command: str) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout
