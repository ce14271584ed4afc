"""Work of a known length on each frame that leaves the unit under test, and what it took by its own clock."""

import contextlib
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from msgspec import Struct

from validation.tc_program import attach, built, classified, maps_of, run, values
from vtax.machine.namespace import Namespace

SOURCE: Final = Path(__file__).with_name("busy.bpf.c")
LATEST: Final = 2048
"""Frames whose work is kept one by one."""


@dataclass(frozen=True)
class Took:
    """What the work took for each frame since it was asked for."""

    frames: int
    mean_ns: float
    median_ns: float
    """Of the latest 2048 frames."""


@dataclass(frozen=True)
class Busy:
    """The program in place."""

    work: int
    """The id of its map `work`."""
    latest: int

    def ask(self, asked_ns: int) -> None:
        """Have each frame take so long, from now on, and forget what earlier ones took."""
        value = [f"{byte}" for number in (asked_ns, 0, 0) for byte in number.to_bytes(8, "little")]
        run("bpftool", "map", "update", "id", f"{self.work}", "key", "0", "0", "0", "0", "value", *value)

    def took(self) -> Took:
        """Return what it took so far; raises OSError where no frame came."""
        (work,) = values(self.work, _Work)
        if not work.frames:
            raise OSError("no frame came where each was to take longer")
        latest_ns = values(self.latest, int)[: work.frames]
        return Took(work.frames, work.took_ns / work.frames, statistics.median(latest_ns))


@contextlib.contextmanager
def busy(namespace: Namespace, interface: str, directory: Path) -> Iterator[Busy]:
    """Have the program at an interface's egress while the block lasts; it asks for nothing at first."""
    program = built(SOURCE, {"LATEST": LATEST}, directory)
    with classified(namespace, interface):
        number = attach(namespace, interface, "egress", program, "tc")
        maps = maps_of(number)
        yield Busy(maps["work"], maps["latest"])


class _Work(Struct, frozen=True):
    """The value of the map `work`, as the program has it."""

    frames: int
    took_ns: int
