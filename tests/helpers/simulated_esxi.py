"""govmomi's simulator of an ESXi host, as the tests of its guests see it: `make vcsim` builds it."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from vtax.platforms.esxi import Config, machine
from vtax.platforms.esxi.session import Address, log_in

PASSWORD = "correct-horse"  # noqa: S105 - the simulator's
DATASTORE = "LocalDS_0"
NETWORKS = "VM%20Network VM%20Network"
OTHERS = {"ha-host_VM0", "ha-host_VM1"}
"""Virtual machines that the simulator has from the start."""


@dataclass(frozen=True)
class Simulator:
    """A host: where it is, and what is on it."""

    address: Address

    def config(self, **keys: object) -> Config:
        """Keys of guests there."""
        own = {
            "host": self.address.host,
            "https_port": self.address.https_port,
            "ca_file": self.address.ca_file,
        }
        return Config.model_validate({**own, "datastore": DATASTORE, "port_groups": NETWORKS, **keys})

    def machines(self) -> dict[str, str]:
        """The power state of each virtual machine but those from the start."""
        with log_in(self.address) as session:
            found = {each.name: each.runtime.powerState for each in session.datacenter.vmFolder.childEntity}
        return {name: state for name, state in found.items() if name not in OTHERS}

    def files(self) -> Path:
        """Where the simulator keeps the datastore."""
        with log_in(self.address) as session:
            return Path(session.datacenter.datastore[0].summary.url)

    def is_empty(self) -> bool:
        """Whether nothing of ours is there."""
        return not self.machines() and set(os.listdir(self.files())) == OTHERS  # noqa: PTH208

    def let_through(self, *, serial_ports: bool) -> None:
        """Open or close its firewall."""
        with log_in(self.address) as session:
            firewall = session.compute.host[0].configManager.firewallSystem
            rule = firewall.EnableRuleset if serial_ports else firewall.DisableRuleset
            rule(machine.FIREWALL_RULE)


def certificate(directory: Path, name: str) -> tuple[Path, Path]:
    """A certificate of a host's own, and its key."""
    files = directory / f"{name}.pem", directory / f"{name}.key"
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    whose = ("-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}")
    out = ("-out", str(files[0]), "-keyout", str(files[1]))
    subprocess.run(["openssl", "req", "-x509", *key, *whose, *out], check=True, capture_output=True)
    return files


@contextlib.contextmanager
def running_simulator(directory: Path) -> Iterator[Simulator]:
    """A simulator that runs, with its certificate in `directory` and its secrets in the environment."""
    command = Path(sys.executable).parent / "vcsim"
    if not command.exists():
        pytest.fail("no simulator; make vcsim")
    files = certificate(directory, "localhost")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("VTAX_ESXI_USER", "root")
        environment.setenv("VTAX_ESXI_PASSWORD", PASSWORD)
        process = subprocess.Popen(
            [command, *files],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        port = int(process.stdout.readline())
        simulator = Simulator(Address("localhost", port, str(files[0]), "VTAX_ESXI"))
        try:
            simulator.let_through(serial_ports=True)
            yield simulator
        finally:
            process.stdin.close()
            process.wait()
