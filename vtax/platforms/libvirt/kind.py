"""Guests of libvirt: the user's domain transformed, its taps taken to their ports, vtax's agent behind its channel."""

import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, JsonValue

from vtax.inputs.needs import Need
from vtax.machine.ownership import Name, Owned
from vtax.platforms.cache import cache_directory
from vtax.platforms.contract import Argument, GuestPlan, PlatformConfig, PlatformUnusable, Probe
from vtax.platforms.emulator import INSTALLED, find_emulator, known_emulator
from vtax.platforms.image import build_image
from vtax.platforms.kernel import check_kernel, fetch_kernel, known_kernel
from vtax.platforms.launch import await_hello
from vtax.platforms.libvirt.definition import Survey, read_definition, survey
from vtax.platforms.libvirt.emulators import UntrustedEmulatorError, named_emulator
from vtax.platforms.libvirt.guest import LibvirtGuest, await_start, emulator_of, keep, take_tap
from vtax.platforms.libvirt.hypervisor import (
    Hypervisor,
    Uri,
    Versions,
    check_libvirt,
    emulator_user,
    find_hypervisor,
)
from vtax.platforms.libvirt.transform import REPLACED, REPLACED_BY_EMULATION, Wanted, WantedNic, transform
from vtax.platforms.package import require_open
from vtax.platforms.qemu import known_accelerator, tried_accelerator
from vtax.platforms.qemu_machine import kernel_words
from vtax.platforms.raw import require_agent, require_root
from vtax.platforms.tap import require_tap
from vtax.stages.hooks import NicKind

ARGUMENT = Argument("domain", "FILE.xml")
HELLO_TIMEOUT_S = 60.0
"""Of a guest that may have many virtual CPUs and much memory."""
LOGS = Path("/var/log/libvirt/qemu")
"""Where a daemon keeps what emulators say, a file a domain."""


class DomainLog(Owned, frozen=True, tag="log"):
    """What a daemon keeps of the emulator of a domain."""

    name: Name

    @property
    def path(self) -> Path:
        """Where it is."""
        return LOGS / f"{self.name}.log"

    def is_there(self) -> bool:
        """See Owned."""
        return self.path.exists()

    def remove(self) -> None:
        """See Owned."""
        self.path.unlink(missing_ok=True)


def _readable(path: str) -> str:
    try:
        read_definition(Path(path))
    except ValueError as error:
        raise ValueError(f"{path} {error}") from None
    return str(Path(path).resolve())


class Config(PlatformConfig):
    """Keys of libvirt's guests; everything else is the domain's to say."""

    domain: Annotated[str, AfterValidator(_readable)] | None = Field(
        None, description="file of the domain's XML; what follows the colon in libvirt:FILE.xml"
    )
    libvirt_uri: Uri | None = Field(
        None, description="libvirt of this machine; a daemon that listens, else one embedded in vtax"
    )
    without: str = Field(
        "",
        pattern=r"^[A-Za-z_-]*( [A-Za-z_-]+)*$",
        max_length=200,
        description="elements that the domain shall go without, as in hostdev filesystem",
    )

    @classmethod
    def needs(cls, keys: Mapping[str, JsonValue]) -> Iterator[Need]:
        """The file that its guests are made by."""
        if keys.get("domain"):
            yield Need("domains", f"{keys['domain']}, which libvirt starts", ("domain",))

    @property
    def lacking(self) -> str | None:
        """The domain, or an emulator that is safe to start."""
        if self.domain is None:
            return "no domain is named; allowed: libvirt:FILE.xml"
        definition = read_definition(Path(self.domain))
        try:
            named_emulator(definition, self.without.split())
        except UntrustedEmulatorError as refused:
            line = definition.line_of(refused.element)
            return f"{self.domain}{'' if line is None else f':{line}'}: {refused}"
        except PlatformUnusable:  # whoever has the guests says so: it may be another machine
            return None
        return None

    @property
    def refused_switches(self) -> dict[str, str]:
        """The domain's NICs are taps that libvirt opens, with the offloads that the domain says."""
        return {
            "macvtap": "libvirt's interfaces are taps, which a switch has to join",
            "ovs": "the domain's NICs keep their offloads, which Open vSwitch in user space does not take",
        }


class Kind:
    """Platform kind `libvirt`."""

    port = "bridge"
    nic: NicKind = "tap"
    own_kernel = True
    programs_of = None

    def check(self, config: Config) -> None:
        """The domain must fit; libvirt, an emulator, taps and the tools that unpack a kernel must be there."""
        if config.domain is not None:
            named_emulator(found(config).definition, config.without.split())
        require_root()
        require_agent()
        check_libvirt()
        require_tap()
        check_kernel("distribution")

    def known(self, config: Config) -> Probe:
        """The emulator's and the cached kernel's versions, and which accelerator an earlier run has found."""
        version, kernel = known_emulator(INSTALLED), known_kernel()
        versions = {"QEMU": version, "guest_kernel": kernel}
        facts = {name: told for name, told in versions.items() if told}
        return Probe(known_accelerator(version, kernel) or "not probed", facts)

    def prepare(self, config: Config, packages: Sequence[str] | None = None) -> Probe:
        """Build the guest's image, ask libvirt who it is, and have it start the domain once, paused."""
        self.check(config)
        if config.domain is None:
            raise PlatformUnusable(str(config.lacking), "needs a file of the domain's XML")
        taken = found(config)
        definition = taken.definition
        hypervisor = find_hypervisor(config.libvirt_uri)
        if hypervisor.embedded:
            require_open(cache_directory() / "libvirt", "users other than root")
        kernel = fetch_kernel()
        image = build_image(kernel, taken.drivers)
        accelerator = "emulated"
        if definition.root.get("type") == "kvm":
            accelerator = tried_accelerator(find_emulator(INSTALLED), kernel, image)
        told = tried(config, hypervisor, accelerator)
        machine = definition.root.find("os/type")
        facts = {
            "version": _version(told["hypervisor"]),
            "libvirt": _version(told["libvirt"]),
            "libvirt_uri": hypervisor.uri,
            "guest_kernel": kernel.version,
            "domain": Path(config.domain).name,
            "domain_sha256": definition.sha256,
            "machine": machine.get("machine") if machine is not None else None,
            "nic_model": ", ".join(taken.models),
            "left_out": taken.names,
            "replaced": [*REPLACED, *(REPLACED_BY_EMULATION if accelerator == "emulated" else ())],
        }
        return Probe(accelerator, facts)

    def check_protocols(self, config: Config, protocols: Sequence[str]) -> None:
        """The guest's kernel must have the modules, unless they are built in."""
        for module in protocols:
            fetch_kernel().load_order(module)

    def start(self, plan: GuestPlan) -> LibvirtGuest:
        """Have libvirt run the domain, attach its taps to their ports and wait for hello."""
        config = plan.config
        assert isinstance(config, Config)  # noqa: S101 - resolved by this kind's own model
        probe = self.prepare(config)
        hypervisor = find_hypervisor(config.libvirt_uri)
        modules = (*found(config).drivers, *plan.protocols)
        name = f"{plan.record.run}-{plan.name}"
        taps = [f"{plan.name}p{number}" for number in range(len(plan.nics))]
        nics = [WantedNic(nic.mac, tap, nic.mtu) for nic, tap in zip(plan.nics, taps, strict=True)]
        files = plan.scratch / f"{plan.name}.libvirt"
        files.mkdir(exist_ok=True)
        domain, console = files / "domain.xml", files / "console"
        if hypervisor.embedded:  # a daemon makes it for the emulator's user
            console.touch(mode=0o600)
            user = emulator_user(files)
            os.chown(console, user, user)
        domain.write_text(
            _domain(config, name, nics, plan.cpus, modules, hypervisor.sees(console, files), probe.emulated)
        )
        errors = plan.scratch / f"{plan.name}.log"
        log = files / f"log/qemu/{name}.log" if hypervisor.embedded else DomainLog(name).path
        if not hypervisor.embedded:
            plan.record.add(DomainLog(name))
        begun = time.monotonic()
        agent, answer = keep(plan.name, hypervisor, domain, errors, plan.host, files)
        guest = LibvirtGuest(agent, 0.0, modules, name, console, (errors, log))
        try:
            plan.record.add_process(agent.process.pid, plan.name)
            await_start(hypervisor, answer, errors)
            guest.emulator = emulator_of(name)
            plan.record.add_process(guest.emulator[0], f"{plan.name}'s emulator")
            for nic, tap in zip(plan.nics, taps, strict=True):
                take_tap(plan.host, tap, nic.mtu)
                nic.port.attach(tap, nic.mac)
        except BaseException:
            guest.stop()
            raise
        finally:
            os.close(answer)
        await_hello(guest, plan, begun, HELLO_TIMEOUT_S)
        return guest


def found(config: Config) -> Survey:
    """What of the domain can be run; raises PlatformUnusable."""
    assert config.domain is not None  # noqa: S101 - looked at by the callers
    return survey(read_definition(Path(config.domain)), config.without.split())


@cache
def tried(config: Config, hypervisor: Hypervisor, accelerator: str) -> Versions:
    """What libvirt is, after it has started the domain, paused, and ended it; once a run. Raises PlatformUnusable."""
    hypervisor.ask()
    name = f"vtax-try-{uuid.uuid4().hex[:6]}"
    nics = [
        WantedNic(f"02:76:74:61:ff:{number:02x}", f"{name[9:]}p{number}", 1500)
        for number in range(len(found(config).nics))
    ]
    cpus = sorted(os.sched_getaffinity(0))
    xml = _domain(config, name, nics, cpus, found(config).drivers, None, accelerator == "emulated")
    try:
        return hypervisor.ask("try", domain=xml)
    finally:
        DomainLog(name).remove()


def _domain(
    config: Config,
    name: str,
    nics: Sequence[WantedNic],
    cpus: Sequence[int],
    modules: Sequence[str],
    console: Path | None,
    emulated: bool,
) -> str:
    kernel, taken = fetch_kernel(), found(config)
    wanted = Wanted(
        name=name,
        nics=nics,
        cpus=cpus,
        kernel=kernel.vmlinux,
        image=build_image(kernel, tuple(modules)),
        parameters=kernel_words(emulated=emulated),
        console=console,
        emulated=emulated,
        emulator=named_emulator(taken.definition, config.without.split()),
    )
    return transform(taken, wanted)


def _version(number: int) -> str:
    """A version as libvirt counts it: 1,000,000 major + 1,000 minor + release."""
    return f"{number // 1_000_000}.{number // 1_000 % 1_000}.{number % 1_000}"
