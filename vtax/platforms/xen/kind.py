"""Guests of Xen: paravirtual or PVH domains whose NICs are netfront, with netback in dom0 at the host's ports."""

import time
from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta
from pydantic import Field

from vtax.machine.emulation import patience
from vtax.machine.ownership import Name, Owned, OwnershipRecord
from vtax.platforms.contract import Fact, GuestPlan, PlatformUnusable, Probe, ProgramsOf
from vtax.platforms.egress_qdisc import GuestConfig
from vtax.platforms.image import build_image
from vtax.platforms.kernel import check_kernel, fetch_kernel, known_kernel
from vtax.platforms.launch import await_hello, launch
from vtax.platforms.package import check_tools
from vtax.platforms.raw import require_agent, require_root
from vtax.platforms.userland import fetch_userland
from vtax.platforms.xen import toolstack
from vtax.platforms.xen.domain import XenGuest, console_words, definition, destroy, take_nics
from vtax.stages.hooks import NicKind

DRIVER = "xen-netfront"
HELLO_TIMEOUT_S = 60.0
WINDOW_BYTES = 3072
"""A terminal's line discipline has room for 4095, and its reader tells of 1024 at a time."""


class Config(GuestConfig):
    """Keys of Xen's domains."""

    domain: Literal["pv", "pvh"] = Field(
        "pv", description="paravirtual, or PVH: in the CPU's own virtualization, without an emulator"
    )
    vcpus: int = Field(1, ge=1, le=16)
    memory_bytes: int = Field(256 << 20, ge=128 << 20, le=64 << 30)

    @property
    def pinned_vcpus(self) -> int:
        """All of the domain's."""
        return self.vcpus if self.pinned else 0

    @property
    def weight_of_host(self) -> int | None:
        """Dom0's weight is the hypervisor's matter, which no cgroup tells."""
        return None

    @property
    def refused_switches(self) -> dict[str, str]:
        """A backend is an interface that netback makes."""
        return {"macvtap": "netback makes the host's side of a NIC, which a switch has to join"}

    @property
    def modules(self) -> tuple[str, ...]:
        """All modules that the guest's network needs."""
        return (DRIVER, *self.qdisc_modules)

    @property
    def facts(self) -> dict[str, Fact]:
        """What the probe states of the keys."""
        return {
            "nic_model": "netfront",
            "backend": "netback",
            "domain": self.domain,
            "host_weight": self.host_weight,
            "weighed_by": toolstack.facts()["xen_scheduler"],
            "pinned": self.pinned,
        }

    def check_scheduling(self) -> None:
        """Raise PlatformUnusable for a weight that Xen cannot be told of."""
        if self.host_weight != 1:
            toolstack.check_weights()


class Domain(Owned, frozen=True, tag="domain"):
    """A domain."""

    name: Name

    def is_there(self) -> bool:
        """See Owned."""
        return toolstack.has_domain(self.name)

    def remove(self) -> None:
        """See Owned."""
        destroy(self.name)


class DomainWeight(Owned, frozen=True, tag="weight"):
    """The weight that a domain had before."""

    name: Name
    weight: Annotated[int, Meta(ge=1, le=65535)]

    def is_there(self) -> bool:
        """See Owned. There is something to do while it has another."""
        return toolstack.weight_of(self.name) != self.weight

    def remove(self) -> None:
        """See Owned."""
        toolstack.weigh(self.name, self.weight)


class Kind:
    """Platform kind `xen`."""

    port = "bridge"
    nic: NicKind = "nic"
    own_kernel = True
    programs_of: ProgramsOf = "packages"

    def check(self, config: Config) -> None:
        """Xen must run below, this must be its dom0, and the tools that unpack a kernel be there."""
        require_root()
        require_agent()
        toolstack.check_toolstack()
        config.check_scheduling()
        check_tools({"setpriv": "util-linux"})
        check_kernel("distribution")
        if config.domain == "pvh" and "hvm" not in toolstack.facts()["xen_caps"]:
            raise PlatformUnusable(
                "Xen finds no virtualization in this CPU, which domain=pvh takes", "needs domain: pv"
            )

    def known(self, config: Config) -> Probe:
        """Xen's version, and the cached kernel's."""
        versions = {"version": toolstack.facts()["xen_version"], "guest_kernel": known_kernel()}
        return Probe("none", {name: told for name, told in versions.items() if told})

    def prepare(self, config: Config, packages: Sequence[str] | None = None) -> Probe:
        """Unpack the guest's kernel and build its image."""
        self.check(config)
        kernel = fetch_kernel()
        build_image(kernel, config.modules)
        facts = {"version": toolstack.facts()["xen_version"], "guest_kernel": kernel.version, **config.facts}
        return Probe("none", facts | fetch_userland(packages).facts)

    def check_protocols(self, config: Config, protocols: Sequence[str]) -> None:
        """The guest's kernel must have the modules, unless they are built in."""
        for module in protocols:
            fetch_kernel().load_order(module)

    def start(self, plan: GuestPlan) -> XenGuest:
        """Create the domain paused, attach its NICs to their ports, have it run and wait for hello."""
        config = plan.config
        assert isinstance(config, Config)  # noqa: S101 - resolved by this kind's own model
        self.prepare(config, plan.packages)
        userland = fetch_userland(plan.packages)
        kernel = fetch_kernel()
        modules = (*config.modules, *plan.protocols)
        image = build_image(kernel, modules, userland)
        name = f"{plan.record.run}-{plan.name}"
        file, log = plan.scratch / f"{plan.name}.cfg", plan.scratch / f"{plan.name}.log"
        memory_bytes = config.memory_bytes + userland.memory_bytes
        file.write_text(
            definition(plan, name, config.domain, kernel.vmlinux, image, config.vcpus, memory_bytes)
        )
        plan.record.add(Domain(name))
        _weigh_host(plan.record, config.host_weight)
        begun = time.monotonic()
        try:
            toolstack.xl("create", "-q", "-p", str(file))
            domain = toolstack.domain_id(name)
            take_nics(plan, domain)
            agent = launch(plan.name, console_words(domain), log, window_bytes=WINDOW_BYTES)
            toolstack.xl("unpause", name)
        except BaseException:
            destroy(name)
            raise
        guest = XenGuest(agent, 0.0, name, domain, config.vcpus, log, modules)
        await_hello(guest, plan, begun, patience(HELLO_TIMEOUT_S))
        return guest


def _weigh_host(record: OwnershipRecord, weight: int) -> None:
    """Have dom0 weigh so much against each guest; what it weighed before is in the record.

    Raises OSError where Xen tells of another weight afterwards.
    """
    host, wanted = toolstack.HOST, weight * toolstack.USUAL_WEIGHT
    before = toolstack.weight_of(host)
    if wanted != before:
        record.add(DomainWeight(host, before))
        toolstack.weigh(host, wanted)
        if (given := toolstack.weight_of(host)) != wanted:
            raise OSError(f"Xen was told a weight of {wanted} for {host}, and gives it {given}")
