"""A testbed file: which machines there are, how they are reached, and which of their interfaces are joined."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from vtax.inputs import Document, InputError, read_document, validate
from vtax.inputs.needs import Need
from vtax.testbed.emulated.machine import EmulatedKeys

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,30}$")]
Plug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,30}/[A-Za-z0-9_.-]{1,15}$")]


def _several(names: JsonValue) -> JsonValue:
    """A name alone is a list of one."""
    return [names] if isinstance(names, str) else names


Names = Annotated[
    list[Name],
    Field(min_length=1),
    BeforeValidator(_several, json_schema_input_type=Name | Annotated[list[Name], Field(min_length=1)]),
]
Cpus = Annotated[list[Annotated[int, Field(ge=0, le=4095)]], Field(min_length=1)]
Role = Literal["source", "uut", "sink"]
ROLES: tuple[Role, ...] = ("source", "uut", "sink")


class Strict(BaseModel):
    """A part of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class CpuRoles(Strict):
    """Which CPUs of a machine serve whom."""

    agents: Cpus = Field(description="of sources, sinks, and other agents")
    host: Cpus = Field(description="of the host's own packet work")
    guests: Cpus = Field(description="of guests")
    controller: Cpus = Field(description="of vtax itself")


class MachineKeys(Strict):
    """A machine of the testbed."""

    ssh: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_\[][A-Za-z0-9_.@:%\[\]-]*$",
        max_length=255,
        description="where it is, as ssh takes it; without it: the machine that vtax is started on",
    )
    emulated: EmulatedKeys | None = Field(
        None, description="a machine that vtax emulates on the one it is started on; in place of ssh"
    )
    vtax: str = Field(
        "vtax", pattern=r"^[A-Za-z0-9_./~+-]+$", max_length=4096, description="vtax's command there"
    )
    control: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_.-]{1,15}$",
        description="its interface on the control network, which ssh has to come in by; any that is no link's where "
        "left out",
    )
    cpus: CpuRoles | None = Field(None, description="which CPUs serve whom; chosen by vtax where left out")

    @property
    def is_here(self) -> bool:
        """Whether it is the machine that vtax is started on."""
        return self.ssh is None and self.emulated is None


class LinkKeys(Strict):
    """Two interfaces that a cable joins, in the direction that frames take."""

    source: Plug = Field(alias="from", description="where frames leave, as MACHINE/INTERFACE")
    destination: Plug = Field(alias="to", description="where they arrive")

    @property
    def plugs(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """Machine and interface of both ends."""
        return _plug(self.source), _plug(self.destination)


class RoleKeys(Strict):
    """Which machine does what."""

    source: Names = Field(description="send, a stream each in turn; the first asks, where one asks for all")
    uut: Name = Field(description="has the guests: the unit under test")
    sink: Names | None = Field(
        None, description="receive, a stream each in turn; the sources' machines where left out"
    )

    def machines(self, role: Role) -> list[str]:
        """The machines that have a role, in the order in which streams take them."""
        if role == "uut":
            return [self.uut]
        return self.source if role == "source" or self.sink is None else self.sink


class TestbedFile(Strict):
    """A whole file."""

    name: Name = Field(description="of the testbed, in results")
    machines: dict[Name, MachineKeys] = Field(min_length=1, description="by name")
    roles: RoleKeys = Field(description="which machine does what")
    links: list[LinkKeys] = Field(min_length=1, max_length=256, description="in the order they are used")

    def as_json(self) -> dict[str, JsonValue]:
        """As it is written, without what it leaves out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    @property
    def needs(self) -> Iterator[Need]:
        """Each machine that is reached, and its interfaces that are borrowed; those of emulated ones are made."""
        for name, machine in self.machines.items():
            if machine.ssh is not None:
                yield Need("hosts", f"{name} is {machine.ssh} over SSH, where {machine.vtax} works as root")
            real = [near for near, far in self.cables_of(name) if not self._is_emulated(name, _plug(far)[0])]
            if real:
                yield Need("interfaces", f"{' '.join(real)} of {name}")

    def _is_emulated(self, *machines: str) -> bool:
        return any(self.machines[name].emulated is not None for name in machines)

    def cables_of(self, machine: str) -> list[tuple[str, Plug]]:
        """What a machine's interfaces are joined to, in the order of the links: its own, and the other's plug."""
        ends = [(link.source, link.destination) for link in self.links]
        both = [pair for one, other in ends for pair in ((one, other), (other, one))]
        return [(_plug(near)[1], far) for near, far in both if _plug(near)[0] == machine]


def read_testbed(path: Path) -> TestbedFile:
    """The testbed in a file; raises InputError with file and line. Reading it reaches nobody."""
    return testbed_of(read_document(path))


def testbed_of(document: Document) -> TestbedFile:
    """The same of a document."""
    testbed = validate(TestbedFile, document)
    problems = list(_problems(testbed, document))
    if problems:
        raise InputError("\n".join(str(problem) for problem in problems))
    return testbed


def _problems(testbed: TestbedFile, document: Document) -> Iterator[InputError]:
    known = ", ".join(testbed.machines)
    yield from _problems_of_roles(testbed, document)
    plugs = Counter(plug for link in testbed.links for plug in link.plugs)
    for number, link in enumerate(testbed.links):
        (one, near), (other, far) = link.plugs
        for key, machine, interface in (("from", one, near), ("to", other, far)):
            if machine not in testbed.machines:
                yield document.error(("links", number, key), f'no machine "{machine}"; there are: {known}')
            if plugs[machine, interface] > 1:
                yield document.error(
                    ("links", number, key), f"{machine}/{interface} again; an interface has one cable"
                )
    for name, keys in testbed.machines.items():
        if keys.control is not None:
            yield from _problems_of_control(testbed, document, name, keys.control)
        if keys.emulated is not None:
            yield from _problems_of_emulated(testbed, document, name)
    here = [name for name, machine in testbed.machines.items() if machine.is_here]
    for name in here[1:]:
        yield document.error(
            ("machines", name), f"{here[0]} is this machine already; name its ssh, or leave one of them out"
        )


def _problems_of_roles(testbed: TestbedFile, document: Document) -> Iterator[InputError]:
    """Each machine of a role is there, and is there once; of several none is the unit under test."""
    roles = testbed.roles
    for role in ROLES:
        names = [] if role == "sink" and roles.sink is None else roles.machines(role)
        for number, name in enumerate(names):
            at = ("roles", role, number)
            if name not in testbed.machines:
                yield document.error(at, f'no machine "{name}"; there are: {", ".join(testbed.machines)}')
            if name in names[:number]:
                yield document.error(
                    at, f"{name} again; name a machine once, and give it a cable for each of its streams"
                )
            if len(names) > 1 and name == roles.uut:
                yield document.error(
                    at, f"{name} is the unit under test; each of several has to be another machine"
                )


def _problems_of_control(
    testbed: TestbedFile, document: Document, name: str, interface: str
) -> Iterator[InputError]:
    """Control and measured frames never share an interface."""
    at = ("machines", name, "control")
    if testbed.machines[name].ssh is None:
        yield document.error(at, "is reached without a network; leave control out, or name its ssh")
    if interface in dict(testbed.cables_of(name)):
        yield document.error(
            at, f"{name}/{interface} is the end of a link, which carries nothing but frames that count"
        )


def _problems_of_emulated(testbed: TestbedFile, document: Document, name: str) -> Iterator[InputError]:
    """An emulated machine has an interface for each of its links, which lead to the machine that emulates it."""
    at = ("machines", name, "emulated")
    if testbed.machines[name].ssh is not None:
        yield document.error(at, "is emulated here, and ssh leads elsewhere; leave one of the two out")
    cables = testbed.cables_of(name)
    for number, (interface, far) in enumerate(cables):
        if interface != f"eth{number}":
            yield document.error(
                at,
                f"{name}/{interface}: interfaces are eth0, eth1, ... in the order of the links; name it eth{number}",
            )
        other = testbed.machines.get(_plug(far)[0])
        if other is not None and not other.is_here:
            yield document.error(
                at, f"{far} is no interface of the machine that vtax is started on, where {name} is emulated"
            )


def _plug(text: str) -> tuple[str, str]:
    machine, _, interface = text.partition("/")
    return machine, interface
