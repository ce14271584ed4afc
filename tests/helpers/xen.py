"""Tools of Xen that answer as in dom0 of a machine that a test describes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from vtax.platforms.xen import toolstack

INFO = """host                   : dom0
nr_cpus                : 2
xen_version            : 4.17.7
xen_caps               : xen-3.0-x86_64 {caps}
xen_scheduler          : {scheduler}
"""
WEIGHTS = """Name                                ID Weight  Cap
Domain-0                             0   8192    0
"""
XL = """#!/bin/sh
case "$1" in
    info) cat {directory}/info;;
    sched-credit2) cat {directory}/weights;;
    *) echo "no such domain" >&2; exit 1;;
esac
"""
Answers = Callable[..., None]


def answers_of_dom0(commands: Path, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Answers:
    """What has xl answer as in dom0 of a machine."""

    def answer(caps: str = "hvm-3.0-x86_64", scheduler: str = "credit2", kind: str = "control_d") -> None:
        for name, told in (
            ("type", "xen"),
            ("capabilities", kind),
            ("info", INFO.format(caps=caps, scheduler=scheduler)),
            ("weights", WEIGHTS),
        ):
            (directory / name).write_text(told)
        (commands / "xl").write_text(XL.format(directory=directory))
        for tool in ("xenstore-write", "xenconsole"):
            (commands / tool).write_text("#!/bin/sh\n")
        for tool in commands.iterdir():
            tool.chmod(0o755)
        monkeypatch.setattr(toolstack, "HYPERVISOR", directory / "type")
        monkeypatch.setattr(toolstack, "CAPABILITIES", directory / "capabilities")
        monkeypatch.setattr(toolstack, "check_clock", lambda: None)
        toolstack.facts.cache_clear()

    return answer
