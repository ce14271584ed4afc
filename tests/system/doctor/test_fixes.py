"""The doctor's fixes, each pasted into a shell of a machine that lacks the thing.

That machine is a copy of this one's files, of which only the differences are kept, and they go with the test.
"""

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.copied_machine import Machine
from tests.helpers.paths import ROOT

pytestmark = pytest.mark.system


def doctor(machine: Machine) -> dict[str, dict[str, str | bool | None]]:
    """The doctor's checks by subject."""
    code = "import sys; from vtax.cli import main; sys.exit(main(['doctor', '--json']))"
    status, output = machine.run(f"cd {shlex.quote(str(ROOT))} && {sys.executable} -c {shlex.quote(code)}")
    assert status == 0, output
    return {check["subject"]: check for check in json.loads(output)["checks"]}


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path)
    yield machine
    machine.close()


def lacking(package: str) -> str:
    """Takes a package away as if it had never been installed."""
    return f"dpkg --purge --force-depends {package}"


def broken(command: str) -> str:
    """Takes away a file of a package that nobody can do without."""
    return f"rm $(command -v {command})"


@pytest.mark.parametrize(
    ("loss", "subject"),
    [
        (lacking("kmod"), "modprobe"),
        (lacking("runc"), "container"),
        pytest.param(lacking("kmod"), "qemu-virtio", marks=pytest.mark.soak),
        pytest.param(lacking("iproute2"), "tc", marks=pytest.mark.soak),
        pytest.param(lacking("iproute2"), "all", marks=pytest.mark.soak),
        pytest.param(broken("nsenter"), "nsenter", marks=pytest.mark.soak),
        pytest.param(broken("setpriv"), "setpriv", marks=pytest.mark.soak),
        pytest.param(broken("taskset"), "taskset", marks=pytest.mark.soak),
        pytest.param(broken("taskset"), "qemu-e1000", marks=pytest.mark.soak),
        pytest.param(lacking("qemu-system-x86"), "qemu-virtio", marks=pytest.mark.soak),
    ],
)
def test_a_fix_does_what_it_promises(machine: Machine, loss: str, subject: str) -> None:
    status, output = machine.run(loss)
    assert status == 0, output
    check = doctor(machine)[subject]
    assert not check["usable"]
    assert check["fix"]
    status, output = machine.run(str(check["fix"]))
    assert status == 0, output
    # Where links could not be tried, there is a row for each of them afterwards.
    after = doctor(machine)
    again = after.get(subject) or after["rate"]
    assert again["usable"], again


@pytest.mark.soak
def test_a_fix_does_what_it_promises_without_package_lists(machine: Machine) -> None:
    for command in ("rm -rf /var/lib/apt/lists /var/cache/apt/*.bin", lacking("kmod")):
        status, output = machine.run(command)
        assert status == 0, output
    fix = doctor(machine)["modprobe"]["fix"]
    status, output = machine.run(str(fix))
    assert status == 0, output
    assert doctor(machine)["modprobe"]["usable"]
