"""Several testbeds on one machine: a Dask worker in namespaces of its own each, and a scheduler."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from pyroute2 import IPRoute

from tests.helpers.paths import VTAX
from vtax.cluster.certificates import Certificates, make_certificates
from vtax.machine.namespace import Namespace, index_of
from vtax.machine.processes import descendants

CONTROL, PORT = "10.99.0.1", 8786
LISTEN = "0A"
"""TCP_LISTEN in /proc/net/tcp (include/net/tcp_states.h)."""
GRANTS = ("--allow", "programs,hosts,interfaces")
PATIENCE_S = 120.0
OWN_MOUNTS = (
    "mkdir -p /run/netns /run/vtax; mount -t tmpfs none /run/netns; mount --make-shared /run/netns; "
    'mount -t tmpfs -o mode=711 none /run/vtax; trap "exit 0" TERM; while :; do "$@" & wait $!; done'
)
"""What init would be: a place of its own for names and records, and a worker that is started again whenever it ends."""


def wait_for(what: str, condition: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.05)


def links(ip: IPRoute) -> set[str]:
    return {link.get_attr("IFLA_IFNAME") for link in ip.get_links()}


def command_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def path_with(commands: Path | None) -> str:
    """PATH, led by a directory where there is one."""
    return os.environ["PATH"] if commands is None else f"{commands}:{os.environ['PATH']}"


def endpoint(text: str) -> tuple[str, int]:
    """Address and port as /proc/net/tcp has them: words of the host's byte order, in hexadecimal."""
    address, _, port = text.partition(":")
    words = [int(address[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(address), 8)]
    return str(ip_address(b"".join(words))), int(port, 16)


@dataclass
class Node:
    """A process in a network namespace, with all that it starts."""

    name: str
    namespace: Namespace
    process: "subprocess.Popen[bytes]"
    address: str

    @property
    def listening(self) -> list[tuple[str, int]]:
        """Address and port of every TCP socket that listens in its namespace."""
        own = Path("/proc/thread-self/net")
        tables = self.namespace.run(lambda: [(own / table).read_text() for table in ("tcp", "tcp6")])
        rows = [line.split() for table in tables for line in table.splitlines()[1:]]
        return [endpoint(local) for _, local, _, state, *_ in rows if state == LISTEN]

    def below(self, words: str) -> list[int]:
        """Its descendants whose command has these words."""
        return [pid for pid in descendants(self.process.pid) if words in command_of(pid)]

    def end(self, number: int = signal.SIGTERM) -> None:
        """End it, then what it has started, and wait for all of that."""
        family = descendants(self.process.pid)
        self.process.send_signal(number)
        self.process.wait()
        for pid in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        wait_for(f"the end of {self.name}", lambda: not any(map(command_of, family)))


@dataclass
class Testbed(Node):
    """A testbed's controller and its host."""

    cache: Path
    port: str
    """Its host's end of the control network, on the bridge."""

    @property
    def block(self) -> int | None:
        """The process that measures a block, where there is one."""
        return next(iter(self.below("vtax.cluster.block")), None)

    @property
    def kept(self) -> list[str]:
        """What it keeps of blocks for a campaign that has not ended, as far as it knows."""
        return [str(path) for path in self.cache.rglob("*") if path.is_file()]

    def leftovers(self) -> list[str]:
        """All that a campaign has made on its host, but what it keeps of blocks."""
        seen = Path(f"/proc/{self.process.pid}/root/run")
        return [
            *(str(path) for path in (seen / "netns").iterdir()),
            *(str(path) for path in (seen / "vtax").iterdir() if path.name != "lock"),
            *map(command_of, self.below("vtax-agent") + self.below("vtax.cluster.block")),
            *(self.namespace.netlink(links) - {"lo", "control", "lab"}),
        ]


@dataclass
class Ground:
    """A control network with a scheduler and testbeds on it."""

    directory: Path
    certificates: Certificates
    control: Namespace
    run: str = field(default_factory=lambda: f"vtax-test-{uuid.uuid4().hex[:6]}")
    scheduler: Node | None = None
    testbeds: dict[str, Testbed] = field(default_factory=dict)
    hosts: int = 0

    @property
    def file(self) -> Path:
        """The file for `vtax run --testbeds`."""
        return self.write_file(self.certificates)

    def write_file(self, certificates: Certificates) -> Path:
        path = self.directory / f"testbeds-{certificates.directory.name}.yaml"
        told = {"address": f"tls://{CONTROL}:{PORT}", "certificates": str(certificates.directory)}
        path.write_text(json.dumps({"scheduler": told}))
        return path

    def start_scheduler(self) -> None:
        options = {"host": CONTROL, "port": PORT, "protocol": "tls", "security": self._security("scheduler")}
        spec = json.dumps({"cls": "vtax.cluster.nodes.Scheduler", "opts": options})
        command = [sys.executable, "-m", "distributed.cli.dask_spec", "--spec", spec]
        self.scheduler = Node(
            "scheduler", self.control, self._start(self.control, command, "scheduler"), CONTROL
        )

    def start_testbed(self, name: str, certificates: Certificates | None = None, *more: str) -> Testbed:
        """A testbed of a new host; `more` are options of `dask worker`."""
        given = certificates or self.certificates
        return self.start_host(
            name,
            lambda address: [
                *(sys.executable, "-m", "distributed.cli.dask_worker", f"tls://{CONTROL}:{PORT}"),
                *("--name", name, "--nthreads", "1", "--resources", "testbed=1", "--host", address),
                *("--no-dashboard", "--memory-limit", "0", "--worker-class", "vtax.cluster.nodes.Testbed"),
                *("--tls-ca-file", str(given.authority), "--tls-cert", str(given.of("worker"))),
                *("--local-directory", str(self.directory / f"dask-{name}"), *more),
            ],
        )

    def start_machine(self, name: str, commands: Path | None = None) -> Testbed:
        """A testbed whose host has sshd alone; `home` has what ssh needs to know of it.

        Who logs in there finds the `commands` of a directory before any other.
        """
        ssh = self.home / ".ssh"
        if not ssh.exists():
            ssh.mkdir(parents=True)
            for kind in ("host", "user"):
                keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", ssh / kind]
                subprocess.run(keygen, check=True)
        Path("/run/sshd").mkdir(exist_ok=True)
        server = {
            "HostKey": ssh / "host",
            "AuthorizedKeysFile": ssh / "user.pub",
            "StrictModes": "no",
            "UsePAM": "no",
            "PermitRootLogin": "yes",
            "PidFile": "none",
            "SetEnv": f"XDG_CACHE_HOME={self.directory}/cache-{name} PATH={path_with(commands)}",
        }
        config = self.directory / f"sshd-{name}"
        config.write_text("".join(f"{key} {value}\n" for key, value in server.items()))

        def sshd(address: str) -> list[str]:
            known = f"{address} {(ssh / 'host.pub').read_text()}"
            client = f"Host {name}\n  HostName {address}\n  User root\n  IdentityFile {ssh}/user\n"
            for file, text in (("known_hosts", known), ("config", client)):
                with (ssh / file).open("a") as told:
                    told.write(text)
            return ["/usr/sbin/sshd", "-D", "-e", "-f", str(config), "-o", f"ListenAddress={address}"]

        machine = self.start_host(name, sshd)
        wait_for("sshd", lambda: "listening on" in (self.directory / f"{name}.log").read_text())
        return machine

    @property
    def home(self) -> Path:
        """Whoever runs campaigns is at home here."""
        return self.directory / "home"

    def start_host(self, name: str, command: Callable[[str], list[str]]) -> Testbed:
        """A host on the control network, with what is to run there given its address."""
        self.hosts += 1
        address = f"10.99.0.{10 + self.hosts}"
        namespace = Namespace(f"{self.run}-{name}")
        namespace.create()
        port = f"t{self.hosts}"
        self._connect(namespace, port, address)
        cache = self.directory / f"cache-{name}"
        alone = ["unshare", "--mount", "--propagation", "slave", "bash", "-c", OWN_MOUNTS, "testbed"]
        process = self._start(namespace, [*alone, *command(address)], name, cache)
        self.testbeds[name] = Testbed(name, namespace, process, address, cache, port)
        return self.testbeds[name]

    def cut(self, testbed: Testbed, *, joined: bool = False) -> None:
        """Pull a testbed's control cable, or put it in again."""
        state = "up" if joined else "down"
        self.control.netlink(lambda ip: ip.link("set", index=index_of(ip, testbed.port), state=state))

    def end_testbed(self, name: str) -> None:
        testbed = self.testbeds.pop(name)
        testbed.end()
        testbed.namespace.remove()

    def vtax(self, *arguments: str | Path, commands: Path | None = None) -> "subprocess.Popen[str]":
        """A command of vtax on the control network, which finds the `commands` of a directory before any other."""
        return subprocess.Popen(
            [*self._inside(self.control), VTAX, *map(str, arguments), *GRANTS],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "HOME": str(self.home), "PATH": path_with(commands)},
        )

    def close(self) -> None:
        for name in list(self.testbeds):
            self.end_testbed(name)
        if self.scheduler is not None:
            self.scheduler.end()
        self.control.remove()

    def _security(self, role: str) -> dict[str, object]:
        return {
            "require_encryption": True,
            "tls_ca_file": str(self.certificates.authority),
            f"tls_{role}_cert": str(self.certificates.of(role)),
        }

    def _connect(self, namespace: Namespace, port: str, address: str) -> None:
        peer = os.open(namespace.path, os.O_RDONLY)
        try:
            self.control.netlink(
                lambda ip: ip.link(
                    "add", ifname=port, kind="veth", peer={"ifname": "control", "net_ns_fd": peer}
                )
            )
        finally:
            os.close(peer)
        bridge = self.control.netlink(lambda ip: index_of(ip, "control"))
        self.control.bring_up(port, master=bridge)
        namespace.netlink(
            lambda ip: ip.addr("add", index=index_of(ip, "control"), address=address, prefixlen=24)
        )
        namespace.bring_up("control")

    def _start(
        self, namespace: Namespace, command: list[str], name: str, cache: Path | None = None
    ) -> "subprocess.Popen[bytes]":
        with (self.directory / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [*self._inside(namespace), *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **({"XDG_CACHE_HOME": str(cache)} if cache else {})},
            )

    @staticmethod
    def _inside(namespace: Namespace) -> list[str]:
        return ["nsenter", f"--net={namespace.path}"]


@contextlib.contextmanager
def ground_of(names: str, directory: Path) -> Iterator[Ground]:
    """A scheduler and testbeds of these names, a letter each."""
    control = Namespace(f"vtax-test-{uuid.uuid4().hex[:6]}-control")
    control.create()
    ground = Ground(directory, make_certificates(directory / "certificates"), control)
    try:
        control.netlink(lambda ip: ip.link("add", ifname="control", kind="bridge"))
        control.netlink(
            lambda ip: ip.addr("add", index=index_of(ip, "control"), address=CONTROL, prefixlen=24)
        )
        control.bring_up("control")
        ground.start_scheduler()
        for name in names:
            ground.start_testbed(name)
        yield ground
    finally:
        ground.close()
