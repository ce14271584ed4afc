"""ESXi's guests against govmomi's simulator of a host: made, started, spoken to, and removed whatever happens.

The simulator runs nobody's code. What answers at a guest's serial line is an emulated machine with the same disc.
"""

import hashlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import Raw

from tests.helpers.simulated_esxi import (
    DATASTORE,
    OTHERS,
    PASSWORD,
    Simulator,
    certificate,
    running_simulator,
)
from vtax.agent_api import GuestConfigureParams, GuestNic
from vtax.machine.agent import AgentError, AgentGone
from vtax.machine.ownership import OwnershipRecord
from vtax.platforms import GuestPlan, PlatformUnusable
from vtax.platforms.boot_disc import build_disc
from vtax.platforms.esxi import Kind, kind, machine
from vtax.platforms.esxi.made import Made
from vtax.platforms.esxi.session import log_in
from vtax.platforms.kernel import fetch_kernel

pytestmark = [pytest.mark.hosts, pytest.mark.system]


@pytest.fixture(scope="module")
def simulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    with running_simulator(tmp_path_factory.mktemp("esxi")) as simulator:
        yield simulator


@pytest.fixture
def serial_port() -> int:
    """A port where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return min(int(probe.getsockname()[1]), 65000)


@pytest.fixture
def esxi_plan(plan: GuestPlan, simulator: Simulator, serial_port: int) -> Iterator[GuestPlan]:
    yield replace(plan, config=simulator.config(serial_port=serial_port))
    assert simulator.is_empty()


class TestGuest:
    def test_it_starts_from_its_disc_answers_and_goes(
        self,
        esxi_plan: GuestPlan,
        simulator: Simulator,
        serial_port: int,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(kind, "HELLO_TIMEOUT_S", 240)  # ESXi would not emulate its CPU
        disc = build_disc(fetch_kernel(), ("vmxnet3",))
        (nic,) = esxi_plan.nics
        emulator = subprocess.Popen(
            [
                *(
                    "qemu-system-x86_64",
                    "-nodefaults",
                    "-no-user-config",
                    "-display",
                    "none",
                    "-accel",
                    "tcg",
                ),
                *("-machine", "q35", "-cpu", "max", "-m", "256", "-cdrom", str(disc)),
                *("-serial", f"tcp:localhost:{serial_port},server=on,wait=off", "-serial", "null"),
                *("-netdev", "hubport,id=n,hubid=0", "-device", f"vmxnet3,netdev=n,mac={nic.mac},romfile="),
            ]
        )
        try:
            guest = Kind().start(esxi_plan)
            made = guest.made
            assert simulator.machines() == {made.name: "poweredOn"}
            (own,) = (path for path in simulator.files().iterdir() if path.name not in OTHERS)
            assert own.name == made.directory
            put = (own / "vtax.iso").read_bytes()
            assert hashlib.sha256(put).digest() == hashlib.sha256(disc.read_bytes()).digest()
            settings = GuestNic(mac=nic.mac, address="198.18.0.1/24", mtu=1500, neighbours=[])
            params = GuestConfigureParams(modules=["vmxnet3"], nics=[settings], forward=True)
            found = guest.agent.api.guest_configure(params, 30)
            assert [each.driver for each in found.nics] == ["vmxnet3"]
            with pytest.raises(AgentError, match="no method"):  # more than a terminal holds at a time
                guest.agent.begin("nothing", Raw(b'{"of":"%s"}' % (b"x" * 20_000))).wait(30)
            (own / "console.log").write_text("[ 1.0] Kernel panic - not syncing: Oops\n")
            assert "Kernel panic" in guest.last_words()
            files = [path for path in esxi_plan.record.path.parent.rglob("*") if path.is_file()]
            assert not any(PASSWORD in path.read_text(errors="replace") for path in files)
            guest.stop()
            assert simulator.is_empty()
            guest.stop()
        finally:
            emulator.kill()
            emulator.wait()

    def test_one_that_never_answers_is_taken_down(
        self, esxi_plan: GuestPlan, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(kind, "LISTENS_WITHIN_S", 0.2)
        with pytest.raises(AgentGone, match=r"(?s)before it said hello.*Connection refused"):
            Kind().start(esxi_plan)
        assert simulator.is_empty()

    def test_its_hardware_is_as_asked(self, simulator: Simulator) -> None:
        config = simulator.config(nic_model="e1000", vcpus=2, serial_port=3000)
        made = Made(simulator.address, DATASTORE, "vtax-hardware", "0f0e0d0c-1111-4222-8333-444455556666")
        macs = ["02:00:00:00:00:01", "02:00:00:00:00:02"]
        try:
            with log_in(simulator.address) as session:
                site = machine.find_site(session, config)
                machine.make(session, made, Path(__file__))
                assert machine.start(session, site, made, config, macs) == 3000
                assert machine._free_port(session, 3000) == 3001
                (found,) = (
                    each for each in session.datacenter.vmFolder.childEntity if each.name == made.name
                )
                assert (found.config.uuid, found.config.hardware.numCPU) == (made.uuid, 2)
                devices = found.config.hardware.device
                nics = [each for each in devices if hasattr(each, "macAddress")]
                assert [(type(nic).__name__, nic.macAddress, nic.backing.deviceName) for nic in nics] == [
                    ("vim.vm.device.VirtualE1000", mac, "VM Network") for mac in macs
                ]
                lines = [each.backing for each in devices if type(each).__name__.endswith("SerialPort")]
                assert (lines[0].serviceURI, lines[0].direction) == ("tcp://:3000", "server")
                assert lines[1].fileName == f"{made.path}/console.log"
        finally:
            machine.remove(made)
        assert simulator.is_empty()


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("keys", "reason"),
        [
            ({"ca_file": None}, "certificate of localhost is not to be trusted: self-signed certificate"),
            ({"host": "127.0.0.1"}, "certificate of 127.0.0.1 is not to be trusted: IP address mismatch"),
            ({"host": "nowhere.invalid"}, "nowhere.invalid, port [0-9]+: .*(not known|resolution)"),
            ({"https_port": 1}, "localhost, port 1: Connection refused"),
            ({"datastore": "none"}, "localhost has no datastore none; needs one of: LocalDS_0"),
            (
                {"port_groups": "VM%20Network lab"},
                "localhost has no port group lab; needs one of: VM Network",
            ),
        ],
    )
    def test_a_host_that_is_not_as_named(
        self, simulator: Simulator, keys: dict[str, object], reason: str
    ) -> None:
        with pytest.raises(PlatformUnusable, match=reason):
            Kind().prepare(simulator.config(**keys))
        assert simulator.is_empty()

    def test_another_certificate_than_the_one_trusted(self, simulator: Simulator, tmp_path: Path) -> None:
        other, _ = certificate(tmp_path, "localhost")
        with pytest.raises(PlatformUnusable, match="is not to be trusted"):
            Kind().prepare(simulator.config(ca_file=str(other)))

    def test_a_wrong_password(self, simulator: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("VTAX_ESXI_PASSWORD", "tr0ub4dor")
        with pytest.raises(PlatformUnusable, match="localhost refuses this user or password") as refused:
            Kind().prepare(simulator.config())
        assert "tr0ub4dor" not in f"{refused.value!r}{refused.value.__cause__!r}"

    def test_a_closed_firewall(self, simulator: Simulator) -> None:
        simulator.let_through(serial_ports=False)
        try:
            with pytest.raises(
                PlatformUnusable, match="esxcli network firewall ruleset set --ruleset-id remote"
            ):
                Kind().prepare(simulator.config())
        finally:
            simulator.let_through(serial_ports=True)

    def test_a_name_that_is_taken_is_left_alone(self, simulator: Simulator) -> None:
        made = Made(simulator.address, DATASTORE, "ha-host_VM0", "0f0e0d0c-1111-4222-8333-444455556667")
        with (
            log_in(simulator.address) as session,
            pytest.raises(PlatformUnusable, match="already; needs that one"),
        ):
            machine.make(session, made, Path(__file__))
        machine.remove(made)
        with log_in(simulator.address) as session:
            assert {each.name for each in session.datacenter.vmFolder.childEntity} == OTHERS
        assert simulator.is_empty()

    def test_too_few_port_groups(self, esxi_plan: GuestPlan) -> None:
        nics = [esxi_plan.nics[0]] * 3
        with pytest.raises(PlatformUnusable, match="2 port groups are named, and this takes 3"):
            Kind().start(replace(esxi_plan, nics=nics))

    def test_what_probing_states(self, simulator: Simulator) -> None:
        probe = Kind().prepare(simulator.config())
        assert str(probe.facts["version"]).startswith("VMware ESXi")
        assert (probe.accelerator, probe.emulated, probe.facts["host"]) == ("esxi", False, "localhost")


CONTROLLER = """
import sys
from pathlib import Path
from vtax.machine.namespace import Namespace
from vtax.machine.ownership import OwnershipRecord
from vtax.platforms import GuestPlan
from vtax.platforms.esxi import Config, Kind
config, run, directory, host = sys.argv[1:]
record = OwnershipRecord(run, Path(directory))
Kind().start(GuestPlan("guest", Config.model_validate_json(config), [], Namespace(host), [0], record))
"""


class TestKilled:
    def test_its_guest_is_removed_once_somebody_may(
        self, esxi_plan: GuestPlan, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The controller waits for a serial line where nobody listens, and is killed meanwhile."""
        record = esxi_plan.record
        arguments = (esxi_plan.config.model_dump_json(), record.run, record.path.parent, esxi_plan.host.name)
        controller = subprocess.Popen([sys.executable, "-c", CONTROLLER, *map(str, arguments)])
        while "poweredOn" not in simulator.machines().values():
            assert controller.poll() is None
        controller.kill()
        controller.wait()
        copy = OwnershipRecord(record.run, record.path.parent)
        with monkeypatch.context() as without:
            without.delenv("VTAX_ESXI_PASSWORD")
            without.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
            assert self.kept(copy) == "VTAX_ESXI_USER and VTAX_ESXI_PASSWORD in the environment"
            without.setenv("VTAX_ESXI_PASSWORD", "tr0ub4dor")
            assert "tr0ub4dor" not in self.kept(copy)
        assert "poweredOn" in simulator.machines().values()
        assert "ESXi guest" in [entry.kind for entry in copy.clean()]
        assert not copy.failed
        assert simulator.is_empty()

    def test_half_a_guest_is_removed(self, simulator: Simulator) -> None:
        made = Made(simulator.address, DATASTORE, "vtax-half", "0f0e0d0c-1111-4222-8333-444455556668")
        with log_in(simulator.address) as session:
            machine.make(session, made, Path(__file__))
        assert not simulator.is_empty()
        machine.remove(made)
        assert simulator.is_empty()

    @staticmethod
    def kept(record: OwnershipRecord) -> str:
        """Clean, in vain; why, as far as it is known from where the secrets are looked for."""
        record.clean()
        assert record.path.exists()
        (why,) = [str(error) for entry, error in record.failed if entry.kind == "ESXi guest"]
        return why.partition("needs ")[2].partition(", or both")[0]


KEYRING = """
from keyring.backend import KeyringBackend
from keyring.credentials import SimpleCredential

class Keyring(KeyringBackend):
    priority = 1

    def get_password(self, service, username):
        return None

    def set_password(self, service, username, password):
        raise NotImplementedError

    def get_credential(self, service, username):
        return SimpleCredential("root", "of-the-keyring") if service == "vtax esx1" else None
"""


def test_secrets_of_the_keyring(tmp_path: Path) -> None:
    (tmp_path / "own_keyring.py").write_text(KEYRING)
    program = (
        "from vtax.platforms.esxi.credentials import find_credentials as f; print(f('LAB', 'esx1').password)"
    )
    environment = {"PYTHONPATH": str(tmp_path), "PYTHON_KEYRING_BACKEND": "own_keyring.Keyring"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.stdout.strip() == "of-the-keyring"
