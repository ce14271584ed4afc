"""Commands in VirtualBox' place, which note how they were called, and a machine of its."""

from pathlib import Path

import pytest

from tests.helpers.namespaces import interfaces
from vtax.machine.borrowed_nic import OWN
from vtax.platforms import GuestPlan
from vtax.platforms.virtualbox import kind
from vtax.platforms.virtualbox.commands import BridgedNic, Machine


def machine(nic_model: str, nics: int) -> Machine:
    return Machine(
        name="vtax-1a2b3c-guest",
        uuid="0f0e0d0c-1111-4222-8333-444455556666",
        directory=Path("/run/vtax/run/guest.virtualbox"),
        disc=Path("/var/cache/vtax/disc/0123.iso"),
        line=Path("/run/vtax/run/guest.virtualbox/line"),
        console=Path("/run/vtax/run/guest.virtualbox/console"),
        nics=[BridgedNic(f"02:00:00:00:00:0{at}", f"1a2b3cguestp{at}") for at in range(nics)],
        nic_model=nic_model,
        vcpus=2,
        memory_bytes=256 << 20,
    )


MANAGE = """#!/bin/sh
echo "$@" >>"$0.calls"
case $1 in
--version) echo "WARNING: a line before it"; echo ${VTAX_TEST_VERSION:-7.0.20r163906} ;;
createvm) touch "$0.made" ;;
storageattach) [ -z "$VTAX_TEST_REFUSES" ] || { echo "VBoxManage: error: no such medium" >&2; exit 1; } ;;
unregistervm) rm "$0.made" ;;
showvminfo) test -e "$0.made" ;;
esac
"""
HEADLESS = """#!/bin/sh
echo "VBoxHeadless: error: the VMMR0 module is not there" >&2
exit 1
"""


def bridged(plan: GuestPlan) -> set[str]:
    """The interfaces outside of any namespace of ours that guests' NICs are bridged to."""
    return {name for name in interfaces(OWN) if plan.record.run[-6:] in name}


def stand_in(commands: Path, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put commands in VirtualBox' place, and have its modules be there."""
    monkeypatch.setattr(kind, "LOADED", directory / "modules")
    for module in kind.MODULES:
        (directory / "modules" / module).mkdir(parents=True)
    for name, script in {"VBoxManage": MANAGE, "VBoxHeadless": HEADLESS}.items():
        (commands / name).write_text(script)
        (commands / name).chmod(0o755)
    return commands / "VBoxManage"
