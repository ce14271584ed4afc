"""Containers of an OCI runtime: the host's kernel behind a second pair of interfaces, in namespaces of their own."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Meta
from pydantic import AfterValidator, Field, JsonValue

from vtax.inputs.needs import Need
from vtax.machine.namespace import Namespace
from vtax.machine.ownership import Name, Owned, outside, run_removal
from vtax.machine.user_namespace import Namespaces
from vtax.platforms.confinement import ConfinedConfig, check_user_namespaces
from vtax.platforms.contract import OWN_STACKS, GuestPlan, PlatformUnusable, Probe, ProgramsOf
from vtax.platforms.oci import PLACE, at_place, check_limits, find_runtime, runtime_command, write_bundle
from vtax.platforms.program import OwnProgramConfig, told_version
from vtax.platforms.raw import require_agent, require_protocols, require_root
from vtax.platforms.runtime import Container, ContainerGuest, start_container
from vtax.stages.hooks import NicKind

KNOWN_RUNTIMES = ("runc", "crun")


def _without_own_network(runtime: str) -> str:
    if (platform := OWN_STACKS.get(runtime)) is not None:
        raise ValueError(
            f"{runtime} has a network stack of its own to be set up; allowed: the platform {platform} in its place"
        )
    return runtime


class Config(OwnProgramConfig, ConfinedConfig):
    """Keys of containers."""

    runtime: Annotated[str, AfterValidator(_without_own_network)] = Field(
        KNOWN_RUNTIMES[0], pattern=r"^[a-z][a-z0-9-]*$", description="an OCI runtime's command name"
    )
    memory_bytes: int | None = Field(None, ge=16 << 20, description="cgroup memory limit")

    @classmethod
    def needs(cls, keys: Mapping[str, JsonValue]) -> Iterator[Need]:
        """Another command than those of the runtimes that are known."""
        yield from super().needs(keys)
        if (runtime := keys.get("runtime", KNOWN_RUNTIMES[0])) not in KNOWN_RUNTIMES:
            yield Need("programs", f"{runtime}, started as root as an OCI runtime", ("runtime",))

    @property
    def limits(self) -> list[str]:
        """The cgroup controllers that guests need."""
        return ["cpuset"] if self.memory_bytes is None else ["cpuset", "memory"]


class OciContainer(Owned, frozen=True, tag="container"):
    """A container of an OCI runtime that has its state below `root`."""

    name: Name
    runtime: Annotated[str, Meta(pattern=r"\A[a-z][a-z0-9-]*\Z")]
    root: str

    def problem(self, state: Path) -> str | None:
        """A runtime takes any directory for its state."""
        return outside(state, self.root)

    @property
    def needs(self) -> list[Path]:
        """See Owned."""
        return [Path(self.root)]

    def is_there(self) -> bool:
        """See Owned."""
        return (Path(self.root) / self.name).exists()

    def remove(self) -> None:
        """See Owned."""
        run_removal([*runtime_command(self.runtime, Path(self.root)), "delete", "--force", self.name])


class Kind:
    """Platform kind `container`."""

    port = "bridge"
    nic: NicKind = "veth"
    own_kernel = False
    programs_of: ProgramsOf = "host"

    def check(self, config: Config) -> None:
        """The runtime must be installed, and able to apply what is asked of it."""
        require_root()
        require_agent()
        config.check_scheduling()
        if config.confined:
            check_user_namespaces()
        find_runtime(config.runtime)
        check_limits(config.runtime, config.limits)

    def known(self, config: Config) -> Probe:
        """What the runtime says."""
        own = None if config.binary is None else config.runtime
        told = told_version(config.binary or find_runtime(config.runtime), config.runtime, own=own)
        if own and (name := told.split()[0]) in {*KNOWN_RUNTIMES, *OWN_STACKS} - {own}:
            raise PlatformUnusable(f"{config.binary} is {name}, not {own}", f"needs a platform of {name}")
        return Probe("none", {"version": told})

    def prepare(self, config: Config, packages: Sequence[str] | None = None) -> Probe:
        """Ask the runtime for its version."""
        self.check(config)
        return Probe("none", {"runtime": config.runtime, **self.known(config).facts, **config.facts})

    def check_protocols(self, config: Config, protocols: Sequence[str]) -> None:
        """The host's kernel forwards."""
        require_protocols(protocols)

    def start(self, plan: GuestPlan) -> ContainerGuest:
        """Run the agent in a container that joins a namespace with one veth pair a NIC."""
        config = plan.config
        assert isinstance(config, Config)  # noqa: S101 - resolved by this kind's own model
        self.check(config)
        root = plan.scratch / "containers"
        runtime = runtime_command(config.runtime, root, config.binary)

        def describe(namespace: Namespace, owner: Namespaces | None) -> Container:
            bundle = plan.scratch / plan.name
            programs = plan.packages is not None
            write_bundle(
                bundle,
                namespace.path,
                plan.own_cpus,
                config.memory_bytes,
                programs=programs,
                owner=owner,
            )
            return Container(
                f"{config.runtime} run",
                run=[*plan.admission, *at_place(bundle), *runtime, "run", "--bundle", PLACE, namespace.name],
                owned=OciContainer(namespace.name, config.runtime, str(root)),
            )

        return start_container(plan, describe, confined=config.confined)
