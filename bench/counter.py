"""Frames and their rate at the far end of the way, counted there by one BPF program whoever sent them."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from validation.tc_program import attach, built, classified, run
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
        (entry,) = json.loads(run("bpftool", "-j", "map", "dump", "id", str(self.map_id)))
        value = entry["formatted"]["value"]
        elapsed_ns = value["last_ns"] - value["first_ns"]
        frames = value["last_frames"] - value["first_frames"]
        return Counted(value["frames"], frames / elapsed_ns * 1e9 if elapsed_ns > 0 else None)


@contextlib.contextmanager
def counted(
    namespace: Namespace, interface: str, frame_bytes: int, directory: Path, *, at: str = "tc"
) -> Iterator[Counter]:
    """Count and drop frames of one length at an interface, at `tc` or at `xdp`, while the block lasts."""
    program = built(SOURCE, {"FRAME_BYTES": frame_bytes}, directory)
    with contextlib.ExitStack() as removed:
        if at == "xdp":
            program_id = removed.enter_context(_at_xdp(namespace, interface, program))
        else:
            removed.enter_context(classified(namespace, interface))
            program_id = attach(namespace, interface, "ingress", program, "tc")
        (map_id,) = json.loads(run("bpftool", "-j", "prog", "show", "id", str(program_id)))["map_ids"]
        yield Counter(map_id)


@contextlib.contextmanager
def _at_xdp(namespace: Namespace, interface: str, program: Path) -> Iterator[int]:
    """Have the program at an interface's XDP while the block lasts; yields its id."""
    inside = ["nsenter", f"--net={namespace.path}", "--"]
    link = [*inside, "ip", "link", "set", "dev", interface]
    run(*link, "xdpdrv", "object", str(program), "section", "xdp")
    try:
        (shown,) = json.loads(run(*inside, "ip", "-j", "link", "show", "dev", interface))
        yield shown["xdp"]["prog"]["id"]
    finally:
        run(*link, "xdpdrv", "off")
