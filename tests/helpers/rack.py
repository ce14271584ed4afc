"""Machines made of namespaces: each has its own network, sshd and /run, and a control network joins them.

The controller is in a namespace of its own on the control network. Cables between the machines are veth pairs.
"""

import contextlib
import json
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.helpers.paths import VTAX, program
from vtax.machine.namespace import Namespace, index_of

CONTROL = "198.18.255"
Cable = tuple[str, str, str, str]
CABLES: tuple[Cable, ...] = (("gen", "cable0", "uut", "cable0"), ("uut", "cable1", "rec", "cable0"))
GRANTS = ("--allow", "hosts,interfaces")
ROLES = "{source: gen, uut: uut, sink: rec}"
# What a machine's first process does: /run is its own, and sshd is its service.
BOOT = """
mount -t tmpfs none /run && mkdir -p /run/sshd /run/netns /run/vtax
ip link set lo up
echo ready
exec /usr/sbin/sshd -D -e -f "$0"
"""


@dataclass
class Rack:
    """The machines by name, and the file that names them."""

    directory: Path
    namespaces: dict[str, Namespace]
    cables: Sequence[Cable]
    processes: dict[str, "subprocess.Popen[str]"] = field(default_factory=dict)

    @property
    def testbed(self) -> Path:
        """The testbed file."""
        return self.directory / "rack.yaml"

    def vtax(self, *arguments: str | Path, timeout_s: float = 280) -> "subprocess.CompletedProcess[str]":
        """vtax on the controller's machine."""
        return subprocess.run(
            self.command(program(), *arguments, *GRANTS),
            check=False,
            capture_output=True,
            text=True,
            timeout=timeout_s,
        )

    def start(self, *arguments: str | Path) -> "subprocess.Popen[str]":
        """The same, and not waited for."""
        return subprocess.Popen(
            self.command(program(), *arguments, *GRANTS),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def command(self, *words: str | Path) -> list[str]:
        """What runs in the controller's namespace, with an ssh that knows the machines."""
        path = f"PATH={self.directory}:{os.environ['PATH']}"
        inside = ["nsenter", f"--net={self.namespaces['controller'].path}", "env", path]
        return [*inside, *map(str, words)]

    def on(self, machine: str, *words: str) -> str:
        """What a command prints on a machine."""
        return subprocess.run(self.inside(machine, *words), check=True, capture_output=True, text=True).stdout

    def inside(self, machine: str, *words: str) -> list[str]:
        """What runs a command on a machine."""
        target = str(self.processes[machine].pid)
        return ["nsenter", "--target", target, "--mount", "--net", "--", *words]

    def remains(self, machine: str) -> list[str]:
        """What vtax left on a machine: namespaces, records, processes that serve, cables that are not as they were."""
        found = self.on(machine, "sh", "-c", "ls /run/netns; ls /run/vtax | grep -v ^lock$; true").split()
        links = self.on(machine, "ip", "-br", "link").splitlines()
        there = {line.split("@")[0].split()[0] for line in links}
        missing = {near for one, near, _, _ in self.cables if one == machine} - there
        missing |= {far for _, _, other, far in self.cables if other == machine} - there
        return [*found, *(f"{name} is missing" for name in sorted(missing))]

    def frames(self, machine: str, interface: str) -> tuple[int, int]:
        """How many frames an interface has sent, and how many came in by it."""
        (told,) = json.loads(self.on(machine, "ip", "-s", "-j", "link", "show", interface))
        return told["stats64"]["tx"]["packets"], told["stats64"]["rx"]["packets"]

    def settles(self, patience_s: float = 30.0) -> bool:
        """Whether soon nothing is left on any machine."""
        deadline = time.monotonic() + patience_s
        while any(self.remains(name) for name in self.processes):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.2)
        return True

    def connect(self, namespace: Namespace, port: str, interface: str, number: int) -> None:
        """Put a namespace on the control network: by this interface, at this address of the network."""
        controller = self.namespaces["controller"]
        peer = {"ifname": interface, "net_ns_fd": str(namespace.path)}
        controller.netlink(lambda ip: ip.link("add", ifname=port, kind="veth", peer=peer))
        controller.bring_up(port, master=controller.netlink(lambda ip: index_of(ip, "control")))
        _address(namespace, interface, number)

    def cut(self, machine: str, *, joined: bool) -> None:
        """Pull a machine's control cable, or put it in again."""
        state = "up" if joined else "down"
        self.namespaces["controller"].netlink(
            lambda ip: ip.link("set", index=ip.link_lookup(ifname=f"to-{machine}")[0], state=state)
        )


@contextlib.contextmanager
def rack(directory: Path, cables: Sequence[Cable] = CABLES, roles: str = ROLES) -> Iterator[Rack]:
    """Machines that such cables join, and that are gone afterwards."""
    names = list(dict.fromkeys(name for one, _, other, _ in cables for name in (one, other)))
    tag = f"vtax-test-{uuid.uuid4().hex[:4]}"
    with contextlib.ExitStack() as undo:
        namespaces = {name: Namespace(f"{tag}-{name}") for name in ("controller", *names)}
        for namespace in namespaces.values():
            namespace.create()
            undo.callback(namespace.remove)
        made = Rack(directory, namespaces, cables)
        _join_control(made, names)
        for one, near, other, far in cables:
            peer = {"ifname": far, "net_ns_fd": str(namespaces[other].path)}
            namespaces[one].netlink(
                lambda ip, near=near, peer=peer: ip.link("add", ifname=near, kind="veth", peer=peer)
            )
        _write_keys(made, names)
        for name in names:
            process = _boot(made, name)
            undo.callback(_end, process)
            made.processes[name] = process
        _write_testbed(made, roles)
        yield made


def _join_control(made: Rack, names: Sequence[str]) -> None:
    controller = made.namespaces["controller"]
    controller.netlink(lambda ip: ip.link("add", ifname="control", kind="bridge"))
    for number, name in enumerate(names):
        made.connect(made.namespaces[name], f"to-{name}", "control", number + 1)
    _address(controller, "control", 100)


def _address(namespace: Namespace, interface: str, number: int) -> None:
    namespace.netlink(
        lambda ip: ip.addr("add", index=index_of(ip, interface), address=f"{CONTROL}.{number}", prefixlen=24)
    )
    namespace.bring_up(interface)


def _write_keys(made: Rack, names: Sequence[str]) -> None:
    directory = made.directory
    for kind in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", directory / kind], check=True)
    known = (directory / "host.pub").read_text()
    hosts = ""
    for number, name in enumerate(names):
        server = {
            "ListenAddress": f"{CONTROL}.{number + 1}",
            "HostKey": directory / "host",
            "AuthorizedKeysFile": directory / "user.pub",
            "StrictModes": "no",
            "UsePAM": "no",
            "PermitRootLogin": "yes",
            "PidFile": "none",
            "ClientAliveInterval": "2",
            "ClientAliveCountMax": "5",
        }
        (directory / f"sshd-{name}").write_text("".join(f"{key} {value}\n" for key, value in server.items()))
        client = {
            "HostName": f"{CONTROL}.{number + 1}",
            "HostKeyAlias": "rack",
            "User": "root",
            "IdentityFile": directory / "user",
            "IdentitiesOnly": "yes",
            "UserKnownHostsFile": directory / "known_hosts",
        }
        hosts += f"Host {name}\n" + "".join(f"    {key} {value}\n" for key, value in client.items())
    (directory / "ssh_config").write_text(hosts)
    (directory / "known_hosts").write_text(f"rack {known}")
    ssh = directory / "ssh"
    ssh.write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {directory}/ssh_config "$@"\n')
    ssh.chmod(0o755)


def _boot(made: Rack, name: str) -> "subprocess.Popen[str]":
    command = [
        *("nsenter", f"--net={made.namespaces[name].path}", "unshare", "--mount"),
        *("sh", "-ec", BOOT, str(made.directory / f"sshd-{name}")),
    ]
    log = (made.directory / f"{name}.log").open("w")
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=log, text=True, process_group=0, stdin=subprocess.DEVNULL
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n", (made.directory / f"{name}.log").read_text()
    return process


def _end(process: "subprocess.Popen[str]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    process.wait(10)


def _write_testbed(made: Rack, roles: str) -> None:
    machines = "".join(
        f"  {name}: {{ssh: {name}, vtax: {VTAX}, control: control}}\n" for name in made.processes
    )
    links = "".join(
        f"  - {{from: {one}/{near}, to: {other}/{far}}}\n" for one, near, other, far in made.cables
    )
    made.testbed.write_text(f"name: rack\nmachines:\n{machines}roles: {roles}\nlinks:\n{links}")
