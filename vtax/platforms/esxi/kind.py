"""Guests of ESXi: vtax's disc on a datastore, a virtual machine that starts from it, its serial line over TCP."""

import contextlib
import logging
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vtax.machine.agent import Agent
from vtax.platforms.boot_disc import build_disc, check_disc
from vtax.platforms.console import tail, telling_line
from vtax.platforms.contract import GuestPlan, PlatformUnusable, Probe
from vtax.platforms.esxi import machine
from vtax.platforms.esxi.config import Config
from vtax.platforms.esxi.credentials import find_credentials
from vtax.platforms.esxi.made import Made
from vtax.platforms.esxi.removal import OwnedGuest
from vtax.platforms.esxi.session import Address, check_library, log_in
from vtax.platforms.kernel import fetch_kernel, known_kernel
from vtax.platforms.launch import await_hello
from vtax.platforms.raw import require_agent, require_root
from vtax.platforms.serial_line import check_serial_line, connect, tcp_line
from vtax.stages.hooks import NicKind

HELLO_TIMEOUT_S = 60.0
"""Of a host that others use as well."""
LISTENS_WITHIN_S = 10.0

log = logging.getLogger(__name__)


@dataclass
class EsxiGuest:
    """A virtual machine of an ESXi host."""

    agent: Agent
    hello_s: float
    modules: Sequence[str]
    made: Made
    note: Path
    log: Path

    def threads(self) -> dict[int, tuple[int, str]]:
        """None on this machine."""
        return {}

    def last_words(self) -> str:
        """What kept its serial line from being reached, and what its kernel said at its end."""
        console = machine.read_console(self.made)
        return f"{tail(self.log)}\n{telling_line(console) or ''}".strip()

    def stop(self) -> None:
        """Remove it from the host; what cannot be is still in the run's record."""
        self.agent.close()
        take_down(self.made, self.note)


def take_down(made: Made, note: Path) -> None:
    """Remove what was made, and with it the note; never raises."""
    try:
        if note.exists():
            machine.remove(made)
            note.unlink()
    except PlatformUnusable as unusable:
        log.warning("%s is still on %s: %s", made.name, made.address.host, unusable)


class Kind:
    """Platform kind `esxi`."""

    port = "bridge"
    nic: NicKind = "wire"
    own_kernel = True
    programs_of = None

    def check(self, config: Config) -> None:
        """The library, what makes discs and reaches serial lines must be there; a host is not asked."""
        require_root()
        require_agent()
        check_library()
        check_disc()
        check_serial_line()

    def known(self, config: Config) -> Probe:
        """The guest's kernel."""
        version = known_kernel()
        return Probe("esxi", {"guest_kernel": version} if version else {})

    def prepare(self, config: Config, packages: Sequence[str] | None = None) -> Probe:
        """Build the guest's disc, log in, and look whether all is there that the keys name."""
        self.check(config)
        address = address_of(config)
        find_credentials(address.credentials, address.host)
        kernel = fetch_kernel()
        build_disc(kernel, (config.nic_model,))
        with log_in(address) as session:
            machine.find_site(session, config)
            version = session.content.about.fullName
        return Probe("esxi", {"version": version, "guest_kernel": kernel.version, **config.facts})

    def check_protocols(self, config: Config, protocols: Sequence[str]) -> None:
        """The guest's kernel must have the modules, unless they are built in."""
        for module in protocols:
            fetch_kernel().load_order(module)

    def start(self, plan: GuestPlan) -> EsxiGuest:
        """Put the disc on the host, have it start a virtual machine from it, connect to that and wait for hello."""
        config = plan.config
        assert isinstance(config, Config)  # noqa: S101 - resolved by this kind's own model
        if len(config.networks) < len(plan.nics):
            raise PlatformUnusable(
                f"{len(config.networks)} port groups are named, and this takes {len(plan.nics)}",
                "needs platform.port_groups with one in and one out for each stream",
            )
        modules = (config.nic_model, *plan.protocols)
        disc = build_disc(fetch_kernel(), modules)
        made = Made(
            address_of(config), str(config.datastore), f"{plan.record.run}-{plan.name}", str(uuid.uuid4())
        )
        note, errors = plan.scratch / f"{plan.name}.esxi", plan.scratch / f"{plan.name}.log"
        begun = time.monotonic()
        with contextlib.ExitStack() as undo:
            with log_in(made.address) as session:
                site = machine.find_site(session, config)
                _write_down(plan, made, note)
                undo.callback(take_down, made, note)
                machine.make(session, made, disc)
                port = machine.start(session, site, made, config, [nic.mac for nic in plan.nics])
            agent = connect(plan.name, tcp_line(made.address.host, port), errors, LISTENS_WITHIN_S)
            undo.pop_all()
        guest = EsxiGuest(agent, 0.0, modules, made, note, errors)
        await_hello(guest, plan, begun, HELLO_TIMEOUT_S)
        return guest


def address_of(config: Config) -> Address:
    """Where the host is; raises PlatformUnusable for keys that name none."""
    if config.host is None or config.lacking is not None:
        raise PlatformUnusable(str(config.lacking), "needs it named")
    return Address(config.host, config.https_port, config.ca_file, config.credentials)


def _write_down(plan: GuestPlan, made: Made, note: Path) -> None:
    """Have the record know how the guest is removed, and that there may be one."""
    plan.record.add(OwnedGuest(f"{made.name} on {made.address.host}", str(note)))
    made.note(note)
