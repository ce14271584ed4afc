"""Loss, duplicates and reordering of a known share, where frames leave the unit under test."""

import contextlib
import platform
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyroute2 import IPRoute

from vtax.machine.namespace import Namespace, index_of

SOURCE = Path(__file__).with_name("plant.bpf.c")
LEAVE = "out0"
DETOUR, DETOUR_END = "detour", "detour-end"


@dataclass(frozen=True)
class Planted:
    """Of 10,000 UDP frames of a load: how many are lost, sent twice, and overtaken."""

    lost: int = 0
    twice: int = 0
    late: int = 0


@contextlib.contextmanager
def planted(namespace: Namespace, what: Planted, frame_bytes: int, directory: Path) -> Iterator[None]:
    """Have it happen to frames so long, or longer, at `out0` of the UUT's namespace while the block lasts."""
    leave, detour = namespace.netlink(_lay_detour)
    program = directory / "plant.o"
    constants = {
        "FRAME_BYTES": frame_bytes,
        "LOST": what.lost,
        "TWICE": what.twice,
        "LATE": what.late,
        "LEAVE": leave,
        "DETOUR": detour,
    }
    options = [f"-D{name}={value}" for name, value in constants.items()]
    options.append(f"-I/usr/include/{platform.machine()}-linux-gnu")  # asm/types.h
    _run(
        "clang", "-target", "bpf", "-O2", "-Wall", "-Werror", *options, "-c", str(SOURCE), "-o", str(program)
    )
    bucket = ["tbf", "rate", "1mbit", "burst", str(frame_bytes), "limit", "100kb"]
    try:
        _tc(namespace, "qdisc", "add", "dev", DETOUR, "root", *bucket)
        for interface, direction, section in ((LEAVE, "egress", "plant"), (DETOUR_END, "ingress", "rejoin")):
            _tc(namespace, "qdisc", "add", "dev", interface, "clsact")
            bpf = ["bpf", "direct-action", "object-file", str(program), "section", section]
            _tc(namespace, "filter", "add", "dev", interface, direction, *bpf)
        yield
    finally:
        with contextlib.suppress(OSError):  # where it was not made
            _tc(namespace, "qdisc", "del", "dev", LEAVE, "clsact")
        namespace.netlink(lambda ip: ip.link("del", index=detour))


def _lay_detour(ip: IPRoute) -> tuple[int, int]:
    """A veth pair beside the way; returns the indexes of `out0` and of the detour's beginning."""
    ip.link("add", ifname=DETOUR, kind="veth", peer={"ifname": DETOUR_END})
    for name in (DETOUR, DETOUR_END):
        ip.link("set", index=index_of(ip, name), state="up")
    return index_of(ip, LEAVE), index_of(ip, DETOUR)


def _tc(namespace: Namespace, *arguments: str) -> None:
    _run("nsenter", f"--net={namespace.path}", "--", "tc", *arguments)


def _run(*command: str) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
