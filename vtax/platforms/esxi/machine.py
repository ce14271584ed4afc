"""What is done on an ESXi host: a directory of a datastore and a virtual machine are made, started and removed."""

import contextlib
import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from vtax.platforms.contract import PlatformUnusable
from vtax.platforms.esxi.config import SERIAL_PORTS, Config
from vtax.platforms.esxi.interface import VirtualMachine
from vtax.platforms.esxi.made import CONSOLE, DISC, Made, Site
from vtax.platforms.esxi.session import Session, log_in

FIREWALL_RULE = "remoteSerialPort"
"""ESXi's name of the rule that lets others connect to guests' serial ports; it is off by default."""


def find_site(session: Session, config: Config) -> Site:
    """The datastore and the port groups, and that serial ports can be reached; raises PlatformUnusable."""
    host = session.address.host
    datastores = {each.name: each for each in session.datacenter.datastore}
    networks = {each.name: each for each in session.datacenter.network}
    if config.datastore not in datastores:
        raise PlatformUnusable(
            f"{host} has no datastore {config.datastore}", f"needs one of: {_listed(datastores)}"
        )
    for name in config.networks:
        if name not in networks:
            raise PlatformUnusable(f"{host} has no port group {name}", f"needs one of: {_listed(networks)}")
    _require_open(session)
    return Site(datastores[config.datastore], [networks[name] for name in config.networks])


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none there"


def _require_open(session: Session) -> None:
    """Raise PlatformUnusable where the host's firewall keeps guests' serial ports closed."""
    (host,) = session.compute.host
    rules = host.configManager.firewallSystem.firewallInfo.ruleset
    if not any(rule.key == FIREWALL_RULE and rule.enabled for rule in rules):
        raise PlatformUnusable(
            f"the firewall of {session.address.host} keeps guests' serial ports closed",
            f"needs there: esxcli network firewall ruleset set --ruleset-id {FIREWALL_RULE} --enabled true",
        )


def make(session: Session, made: Made, disc: Path) -> None:
    """Make the directory with the disc in it; raises PlatformUnusable for a name that is taken."""
    if any(machine.name == made.name for machine in _machines(session)):
        raise PlatformUnusable(
            f"{session.address.host} has a virtual machine {made.name} already",
            "needs that one renamed or removed there: it is not vtax's",
        )
    session.content.fileManager.MakeDirectory(made.path, session.datacenter)
    with disc.open("rb") as content:
        path = f"{made.directory}/{DISC}"
        session.file_request("PUT", made.datastore, path, content, disc.stat().st_size)


def start(session: Session, site: Site, made: Made, config: Config, macs: Sequence[str]) -> int:
    """Create the virtual machine and switch it on; returns the port of its serial line."""
    from vtax.platforms.esxi.hardware import describe  # noqa: PLC0415 - needs the library
    from vtax.platforms.esxi.tasks import finish  # noqa: PLC0415

    port = _free_port(session, config.serial_port)
    spec = describe(made, site, config, macs, port)
    (host,) = session.compute.host
    machine = finish(
        session, session.datacenter.vmFolder.CreateVM_Task(spec, session.compute.resourcePool, host)
    )
    finish(session, machine.PowerOnVM_Task(host))
    return port


def _free_port(session: Session, first: int) -> int:
    """The first port that no serial line of a guest there has; raises PlatformUnusable."""
    taken = set()
    for machine in _machines(session):
        for device in machine.config.hardware.device if machine.config else ():
            uri = getattr(device.backing, "serviceURI", None)
            taken.add(uri.rpartition(":")[2] if uri else None)
    for port in range(first, first + SERIAL_PORTS):
        if str(port) not in taken:
            return port
    raise PlatformUnusable(
        f"guests of {session.address.host} have all serial ports from {first} to {first + SERIAL_PORTS - 1}",
        "needs another platform.serial_port",
    )


def _machines(session: Session) -> Iterator[VirtualMachine]:
    """The virtual machines of the host."""
    return iter(session.datacenter.vmFolder.childEntity)


def remove(made: Made) -> None:
    """Remove the virtual machine, running or not, and its directory; raises PlatformUnusable."""
    with log_in(made.address) as session:
        from pyVmomi import vim  # noqa: PLC0415 - an extra, of which log_in says where it is missing

        from vtax.platforms.esxi.tasks import finish  # noqa: PLC0415

        machine = session.content.searchIndex.FindByUuid(None, made.uuid, vmSearch=True, instanceUuid=False)
        if machine is not None:
            if machine.runtime.powerState != vim.VirtualMachine.PowerState.poweredOff:
                finish(session, machine.PowerOffVM_Task())
            finish(session, machine.Destroy_Task())
        files = session.content.fileManager
        with contextlib.suppress(vim.fault.FileNotFound):
            finish(session, files.DeleteDatastoreFile_Task(made.path, session.datacenter))


def read_console(made: Made) -> str:
    """What the guest's kernel said; empty where it cannot be had."""
    try:
        with log_in(made.address) as session:
            content = session.file_request("GET", made.datastore, f"{made.directory}/{CONSOLE}")
    except (PlatformUnusable, OSError) as error:
        logging.getLogger(__name__).info("no console of %s: %s", made.name, error)
        return ""
    return content.decode(errors="replace")
