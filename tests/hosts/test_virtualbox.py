"""Platform kind `virtualbox`: a guest with an emulator in VirtualBox' place."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.namespaces import interfaces
from tests.helpers.virtualbox import bridged
from vtax.platforms import GuestPlan, virtualbox
from vtax.platforms.virtualbox import kind

pytestmark = [pytest.mark.system, pytest.mark.hosts]


@pytest.fixture
def plan(plan: GuestPlan) -> Iterator[GuestPlan]:
    yield replace(plan, config=virtualbox.Config())
    assert bridged(plan) == set()


EMULATED = """#!/bin/sh
line=$(sed -n 's/.*--uart-mode1 server \\([^ ]*\\).*/\\1/p' {calls})
disc=$(sed -n 's/.*--medium //p' {calls})
exec qemu-system-x86_64 -nodefaults -no-user-config -display none -machine q35 -accel tcg -cpu max -m 256 \\
    -cdrom "$disc" -serial "unix:$line,server=on,wait=off" -serial null
"""
"""What is done with a machine's disc and serial line, by an emulator in VBoxHeadless' place."""


def test_a_machine_starts_from_its_disc_answers_at_its_pipe_and_goes(
    plan: GuestPlan, manage: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "HELLO_TIMEOUT_S", 240)  # VirtualBox would not emulate its CPU
    (manage.parent / "VBoxHeadless").write_text(EMULATED.format(calls=f"{manage}.calls"))
    guest = virtualbox.Kind().start(plan)
    guest.agent.api.ping()
    assert {pid for pid, _ in guest.threads().values()} == {guest.hypervisor.pid}
    guest.stop()
    assert guest.hypervisor.returncode is not None
    assert Path(f"{manage}.calls").read_text().splitlines()[-1].startswith("unregistervm")
    assert interfaces(plan.host) == {"lo"}
    guest.stop()
