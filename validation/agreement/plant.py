"""Loss, duplicates and reordering of a known share, where frames leave the unit under test."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct
from pyroute2 import IPRoute

from validation.tc_program import attach, built, classified, entries, maps_of, tc
from vtax.machine.namespace import Namespace, index_of

SOURCE = Path(__file__).with_name("plant.bpf.c")
LEAVE = "out0"
DETOUR, DETOUR_END = "detour", "detour-end"


@dataclass(frozen=True)
class Planted:
    """Of 10,000 UDP frames of a load: how many are lost, sent twice, and make a detour that others overtake them on."""

    lost: int = 0
    twice: int = 0
    late: int = 0


class Counts(Struct, frozen=True):
    """What happened to measured frames of a trial, as the program counts it: late are those that others overtook."""

    lost: int = 0
    twice: int = 0
    late: int = 0


@dataclass(frozen=True)
class Planter:
    """The program in place."""

    counted: int
    """The id of its map `counted`."""

    def of(self, trial: int) -> Counts:
        """Return what happened to a trial's measured frames."""
        return entries(self.counted, Counts).get(trial, Counts())


@contextlib.contextmanager
def planted(namespace: Namespace, what: Planted, frame_bytes: int, directory: Path) -> Iterator[Planter]:
    """Have it happen to frames so long, or longer, at `out0` of the UUT's namespace while the block lasts."""
    leave, detour = namespace.netlink(_lay_detour)
    constants = {
        "FRAME_BYTES": frame_bytes,
        "LOST": what.lost,
        "TWICE": what.twice,
        "LATE": what.late,
        "LEAVE": leave,
        "DETOUR": detour,
    }
    program = built(SOURCE, constants, directory)
    bucket = ["tbf", "rate", "1mbit", "burst", str(frame_bytes), "limit", "100kb"]
    try:
        tc(namespace, "qdisc", "add", "dev", DETOUR, "root", *bucket)
        with classified(namespace, LEAVE), classified(namespace, DETOUR_END):
            plant = attach(namespace, LEAVE, "egress", program, "plant")
            attach(namespace, DETOUR_END, "ingress", program, "rejoin")
            yield Planter(maps_of(plant)["counted"])
    finally:
        namespace.netlink(lambda ip: ip.link("del", index=detour))


def _lay_detour(ip: IPRoute) -> tuple[int, int]:
    """A veth pair beside the way; returns the indexes of `out0` and of the detour's beginning."""
    ip.link("add", ifname=DETOUR, kind="veth", peer={"ifname": DETOUR_END})
    for name in (DETOUR, DETOUR_END):
        ip.link("set", index=index_of(ip, name), state="up")
    return index_of(ip, LEAVE), index_of(ip, DETOUR)
