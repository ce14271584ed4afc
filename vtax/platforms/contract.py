"""What every kind of platform does: probe itself, start a guest on given ports, and take it down again.

A kind is a module of this package with a `Config` (a PlatformConfig) and a class `Kind` (a Platform). Nothing
else in vtax knows which kinds there are.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, Self, TypeVar, runtime_checkable

from pydantic import BaseModel, ConfigDict, JsonValue, PrivateAttr

from vtax import agent_api
from vtax.agent_api import Qdisc
from vtax.inputs.needs import Need
from vtax.inputs.own_file import FoundFile, OwnFile
from vtax.machine.agent import Agent
from vtax.machine.namespace import Namespace
from vtax.machine.ownership import OwnershipRecord
from vtax.stages.hooks import NicKind

ProgramsOf = Literal["host", "packages"]
"""Whose programs a guest has: the host's own, or those of packages that are unpacked for it (userland.py)."""


Fact = str | int | bool | None | Sequence[str]
"""What a probe states: a version, a name, a number, whether something is so, or a list of names."""


class PlatformConfig(BaseModel):
    """Keys `platform.*` of a kind, with their bounds. Every field is a possible factor."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    _sha256: Mapping[str, str] = PrivateAttr(default_factory=dict)

    @classmethod
    def file_keys(cls) -> dict[str, OwnFile]:
        """The keys that may name a file of the user's own."""
        marked = {
            key: [about for about in field.metadata if isinstance(about, OwnFile)]
            for key, field in cls.model_fields.items()
        }
        return {key: about[0] for key, about in marked.items() if about}

    @property
    def own_files(self) -> dict[str, str]:
        """The files of the user's own that guests start from: the path by the key."""
        named = {key: about.named(getattr(self, key)) for key, about in self.file_keys().items()}
        return {key: path for key, path in named.items() if path is not None}

    @property
    def shared_files(self) -> frozenset[str]:
        """The keys of those files that another user than root starts or reads."""
        return frozenset()

    def with_files(self, found: Mapping[str, FoundFile]) -> Self:
        """The same keys with the files as they were found, by the key: guests start from these and no others."""
        copy = self.model_copy(update={key: file.path for key, file in found.items()})
        copy._sha256 = {file.path: file.sha256 for file in found.values()}
        return copy

    @property
    def sha256(self) -> Mapping[str, str]:
        """What `with_files` has found: the SHA-256 by the path."""
        return self._sha256

    def with_memory(self, least_bytes: int) -> Self:
        """The same keys for a guest that needs so much memory, where guests have memory of their own."""
        memory_bytes: int | None = getattr(self, "memory_bytes", None)
        if memory_bytes is None or memory_bytes >= least_bytes:
            return self
        return self.model_copy(update={"memory_bytes": least_bytes})

    @classmethod
    def needs(cls, keys: Mapping[str, JsonValue]) -> Iterator[Need]:
        """What guests with these keys need beyond plain traffic, which the user grants. Nobody has checked them."""
        for key, about in cls.file_keys().items():
            if (path := about.named(keys.get(key))) is not None:
                yield Need("programs", f"{path}, {about.use}", (key,))

    @property
    def egress(self) -> Qdisc | None:
        """The queueing discipline that guests shall send through, None for what their kernel sets up."""
        return None

    @property
    def egress_words(self) -> str | None:
        """The same in the words of whoever asked for it."""
        return None

    @property
    def refused_switches(self) -> dict[str, str]:
        """Switches (`testbed.switch`) that guests' NICs cannot be at, each with the reason."""
        return {}

    @property
    def weight_of_host(self) -> int | None:
        """The weight of the host's packet work against each guest's, None where nobody weighs them."""
        return None

    @property
    def lacking(self) -> str | None:
        """Return what guests lack to be started with these keys, in a sentence; None where they lack nothing."""
        return None

    @property
    def elsewhere(self) -> str | None:
        """Where guests' NICs are, in words that follow "its NICs are"; None where they are at ports of this machine."""
        return None

    @property
    def pinned_vcpus(self) -> int:
        """How many virtual CPUs of a guest have one CPU each; 0 where they float over all of the role's."""
        return 0

    @property
    def nic(self) -> NicKind | None:
        """What a guest's NIC is on the host where keys decide that; None for what all of the kind have."""
        return None


@dataclass(frozen=True)
class Argument:
    """What follows the colon in a platform's name, as in libvirt:web.xml; a kind that takes one has an `ARGUMENT`."""

    key: str
    """The key of the kind's configuration that takes it."""
    form: str
    """How it looks, for messages: FILE.xml."""


OWN_STACKS: dict[str, str] = {}
"""OCI runtimes with a network stack of their own, and the platform that sets it up, which says so here itself."""


class PlatformUnusable(Exception):  # noqa: N818 - it states a fact about this machine, not a fault
    """The platform cannot run here: why, and a command that makes it run, or `needs ...` where none does."""

    def __init__(self, reason: str, fix: str) -> None:
        super().__init__(f"{reason}; {fix}")
        self.reason, self.fix = reason, fix


@dataclass(frozen=True)
class Probe:
    """What a platform is on this machine: accelerator and further facts for the result.

    The accelerator is `none`, `kvm`, `emulated`, or the name of another hypervisor that virtualizes CPUs.
    """

    accelerator: str
    facts: Mapping[str, Fact] = field(default_factory=dict)

    @property
    def emulated(self) -> bool:
        """An emulated CPU is never shown as a hypervisor's cost."""
        return self.accelerator == "emulated"


class Attachment(Protocol):
    """The host's side of a port."""

    @property
    def lower(self) -> str | None:
        """The interface that guests' NICs are made on top of; None where they are joined to the port."""

    @property
    def offloads(self) -> bool:
        """Whether it takes frames that their sender leaves to be cut up or completed behind it."""

    def attach(self, interface: str, guest_mac: str) -> None:
        """Join the guest's interface in the host's namespace to the port."""


@dataclass(frozen=True)
class GuestNic:
    """A NIC that the guest shall have: its MAC, the port it meets the host at, its MTU."""

    mac: str
    port: Attachment
    mtu: int


@dataclass(frozen=True)
class GuestPlan:
    """All that a platform needs to start one guest."""

    name: str
    config: PlatformConfig
    nics: Sequence[GuestNic]
    host: Namespace
    cpus: Sequence[int]
    record: OwnershipRecord
    protocols: Sequence[str] = ()
    """Modules that a kernel of its own has to load to forward the frames: ipv6, 8021q."""
    pinned: Sequence[int] = ()
    """A CPU of `cpus` for each virtual CPU; none where these float over all of them."""
    admission: Sequence[str] = ()
    """What precedes the guest's command, so that it runs in the cgroup that has the guest's weight."""
    interfaces: Sequence[agent_api.GuestNic] = ()
    """The NICs as `guest.configure` will set them up, for guests that have to find them so."""
    packages: Sequence[str] | None = None
    """Where programs are to be started in it, the Debian packages that have them; None where none are."""

    @property
    def own_cpus(self) -> Sequence[int]:
        """The CPUs of a guest that runs in one piece."""
        return self.pinned or self.cpus

    @property
    def scratch(self) -> Path:
        """A directory that lives as long as the run."""
        return self.record.scratch


class Guest(Protocol):
    """A started guest. Its agent has said hello."""

    agent: Agent
    hello_s: float
    """From process start to hello."""
    modules: Sequence[str]
    """Kernel modules that the guest's agent shall load for its NICs."""

    def threads(self) -> dict[int, tuple[int, str]]:
        """The guest's threads on the host: thread id to (process id, component)."""

    def last_words(self) -> str:
        """The last lines of its console or log, for a message to the user."""

    def stop(self) -> None:
        """Take the guest and all it brought down; never raises for a guest that is gone already."""


@runtime_checkable
class Apart(Protocol):
    """A guest that a hypervisor below this kernel runs: no thread is its, and the hypervisor tells its CPU time."""

    def cpu_times(self) -> dict[str, float]:
        """Seconds that it has run so far, by component: `vcpu 0`."""

    def host_cpu_times(self, cpus: Collection[int]) -> dict[int, float]:
        """The same of these CPUs of the host, which is a guest of that hypervisor too, by number."""


C_contra = TypeVar("C_contra", bound=PlatformConfig, contravariant=True)


class Platform(Protocol[C_contra]):
    """A kind of platform, by the keys that its guests have."""

    port: str
    """What its NICs need: `wire` where they are the links' ends, or `bridge`, which `testbed.switch` may replace."""
    nic: NicKind
    """What a guest's NIC is on the host, and so which hooks see its frames there: `wire` where it has no other."""
    own_kernel: bool
    """Whether guests have a kernel of their own, and so count CPUs from 0."""
    programs_of: ProgramsOf | None
    """Whose programs can be started in guests; None where none can."""

    def check(self, config: C_contra) -> None:
        """Look, without changing or fetching anything, whether `config` can run here; raises PlatformUnusable."""

    def known(self, config: C_contra) -> Probe:
        """What of `prepare` is known where nothing is fetched, built or booted: the accelerator, and versions alone."""

    def prepare(self, config: C_contra, packages: Sequence[str] | None = None) -> Probe:
        """Fetch and build what guests need, programs of `packages` included, and find the accelerator.

        Raises PlatformUnusable.
        """

    def check_protocols(self, config: C_contra, protocols: Sequence[str]) -> None:
        """Look whether the kernel that forwards has what these modules bring; raises PlatformUnusable."""

    def start(self, plan: GuestPlan) -> Guest:
        """Start a guest; raises AgentGone (with its last words) when it never says hello."""
