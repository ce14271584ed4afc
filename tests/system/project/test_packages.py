"""scripts/packages: what it installs starts no server, and nothing else stays on the machine, however it ends."""

import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.commands import command
from tests.helpers.copied_machine import Machine
from tests.helpers.packages import build_package
from tests.helpers.paths import ROOT

pytestmark = pytest.mark.system

INSTALL = f"{ROOT}/scripts/packages lxc"
"""A package that scripts/packages once made settings for."""
SERVER = """
if [ "$1" = configure ]; then
    if deb-systemd-helper --quiet was-enabled lxc.service; then touch /run/enabled; fi
    update-rc.d lxc defaults
    deb-systemd-invoke start lxc.service || true
    invoke-rc.d lxc start
    echo $PPID > /run/dpkg
    touch /run/configured
    if [ -p /run/gate ]; then read go </run/gate; fi
fi
"""
HEADER = """### BEGIN INIT INFO
# Provides: lxc
# Required-Start:
# Required-Stop:
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
### END INIT INFO
"""
NEW = "find /etc /usr/sbin /usr/bin /usr/local /var/lib/systemd -newer /run/begun ! -type d ! -path '/etc/rc?.d/*'"


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A machine without settings for servers, that has come up, whose archive has one package, with a server."""

    def lay(tree: Path) -> None:
        command(tree / "DEBIAN", "postinst", SERVER)
        (tree / "etc/init.d").mkdir(parents=True)
        command(tree / "etc/init.d", "lxc", HEADER + 'touch "/run/server-$1"')

    deb = build_package("lxc", tmp_path, tmp_path / "debs", lay)
    control = subprocess.run(["dpkg-deb", "--field", deb], check=True, capture_output=True, text=True).stdout
    size, digest = deb.stat().st_size, hashlib.sha256(deb.read_bytes()).hexdigest()
    (tmp_path / "debs/Packages").write_text(
        f"{control}Filename: ./{deb.name}\nSize: {size}\nSHA256: {digest}\n"
    )
    (tmp_path / "copy").mkdir()
    machine = Machine(tmp_path / "copy")
    for preparation in (
        f"mkdir /run/debs && cp {tmp_path}/debs/* /run/debs",
        "rm -f /usr/sbin/policy-rc.d /etc/default/lxc-net /etc/apt/sources.list.d/*",
        "echo 'deb [trusted=yes] file:/run/debs ./' > /etc/apt/sources.list",
        "printf '#!/bin/sh\\necho N 2\\n' >/sbin/runlevel && chmod 755 /sbin/runlevel",
        "! dpkg -s lxc || dpkg --purge --force-depends lxc",
        "rm -f /etc/default/lxc-net && apt-get update && touch /run/begun",
    ):
        status, output = machine.run(preparation)
        assert status == 0, output
    yield machine
    machine.close()


def listed(machine: Machine, what: str) -> list[str]:
    """The files that a command names."""
    status, output = machine.run(what)
    assert status == 0, output
    return sorted(output.split())


def test_no_server_starts_and_nothing_else_stays(machine: Machine) -> None:
    status, output = machine.run(INSTALL)
    assert status == 0, output
    assert listed(machine, "ls -d /run/configured /run/enabled /run/server-* 2>/dev/null || true") == [
        "/run/configured"
    ]
    assert listed(machine, NEW) == []
    assert machine.run("dpkg-query -W -f='${db:Status-Status}' lxc")[1].strip() == "installed"


def test_a_server_starts_where_the_package_is_installed_by_hand(machine: Machine) -> None:
    """So that the test before can fail."""
    status, output = machine.run("apt-get install -y lxc")
    assert status == 0, output
    found = listed(machine, "ls -d /run/configured /run/enabled /run/server-* 2>/dev/null || true")
    assert found == ["/run/configured", "/run/enabled", "/run/server-start"]


def test_nothing_stays_when_it_is_killed(machine: Machine) -> None:
    """While a package is configured, with all that it has started but for dpkg, which ends what it has begun."""
    started = f"mkfifo /run/gate && (setsid {INSTALL} & echo $! > /run/pid) >/dev/null 2>&1"
    assert machine.run(started)[0] == 0
    amid = "until [ -e /run/configured ]; do kill -0 $(cat /run/pid) || exit 1; sleep 0.1; done"
    status, output = machine.run(f"({amid})")
    assert status == 0, output
    assert machine.run("kill -KILL -$(cat /run/pid)")[0] == 0
    assert listed(machine, NEW) == []
    gone = "while kill -0 $(cat /run/dpkg) 2>/dev/null; do sleep 0.1; done"
    status, output = machine.run(f"(echo go >/run/gate; {gone})")
    assert status == 0, output
    assert listed(machine, NEW) == []
