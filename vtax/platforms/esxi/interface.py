"""What vtax uses of an ESXi host's interface (vSphere Web Services API), by the names that it has there.

The library that speaks with hosts is an extra, whose own types are not there wherever vtax is checked. They also hold
any item of a folder for a mere entity.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from pyVmomi import vim, vmodl

E = TypeVar("E")
R_co = TypeVar("R_co", covariant=True)


class Named(Protocol):
    """A datastore, or a network: a port group."""

    name: str


class TaskInfo(Protocol[R_co]):
    """How far a task has come."""

    @property
    def result(self) -> R_co:
        """What it has made."""


class Task(Protocol[R_co]):
    """What a host does in the background."""

    @property
    def info(self) -> TaskInfo[R_co]:
        """How far it has come."""


class Backing(Protocol):
    """What a device of a virtual machine is joined to."""

    serviceURI: str | None
    """Of a serial line that is reached over the network; others lack it."""


class VirtualDevice(Protocol):
    """A device of a virtual machine."""

    backing: Backing | None


class VirtualHardware(Protocol):
    """The hardware of a virtual machine."""

    device: Sequence[VirtualDevice]


class MachineConfig(Protocol):
    """The configuration of a virtual machine."""

    hardware: VirtualHardware


class MachineRuntime(Protocol):
    """The state of a virtual machine."""

    powerState: "vim.VirtualMachine.PowerState"


class VirtualMachine(Protocol):
    """A virtual machine."""

    name: str
    config: MachineConfig | None
    runtime: MachineRuntime

    def PowerOnVM_Task(self, host: "HostSystem") -> Task[None]:
        """Switch it on."""

    def PowerOffVM_Task(self) -> Task[None]:
        """Switch it off."""

    def Destroy_Task(self) -> Task[None]:
        """Remove it with its files."""


class FirewallRule(Protocol):
    """A rule of a host's firewall."""

    key: str
    enabled: bool


class FirewallInfo(Protocol):
    """A host's firewall."""

    ruleset: Sequence[FirewallRule]


class FirewallSystem(Protocol):
    """The manager of a host's firewall."""

    firewallInfo: FirewallInfo


class HostConfigManager(Protocol):
    """The managers of a host."""

    firewallSystem: FirewallSystem


class HostSystem(Protocol):
    """A host."""

    configManager: HostConfigManager


class ComputeResource(Protocol):
    """What virtual machines run on."""

    host: Sequence[HostSystem]
    resourcePool: "vim.ResourcePool"


class Folder(Protocol[E]):
    """A folder of the inventory."""

    childEntity: Sequence[E]


class MachineFolder(Folder[VirtualMachine], Protocol):
    """The folder of the virtual machines."""

    def CreateVM_Task(
        self, config: "vim.vm.ConfigSpec", pool: "vim.ResourcePool", host: HostSystem
    ) -> Task[VirtualMachine]:
        """Create a virtual machine."""


class Datacenter(Protocol):
    """A datacenter."""

    name: str
    datastore: Sequence[Named]
    network: Sequence[Named]
    hostFolder: Folder[ComputeResource]
    vmFolder: MachineFolder


class FileManager(Protocol):
    """The manager of the files in datastores."""

    def MakeDirectory(self, name: str, datacenter: Datacenter) -> None:
        """Make a directory."""

    def DeleteDatastoreFile_Task(self, name: str, datacenter: Datacenter) -> Task[None]:
        """Remove a file, or a directory with all that is in it."""


class SearchIndex(Protocol):
    """The index of the inventory."""

    def FindByUuid(
        self, datacenter: Datacenter | None, uuid: str, *, vmSearch: bool, instanceUuid: bool
    ) -> VirtualMachine | None:
        """The virtual machine with that UUID."""


class PropertyChange(Protocol):
    """A property, and what it is now."""

    name: str
    val: object


class ObjectUpdate(Protocol):
    """What has changed of an object."""

    changeSet: Sequence[PropertyChange]


class FilterUpdate(Protocol):
    """What has changed of the objects of a filter."""

    objectSet: Sequence[ObjectUpdate]


class UpdateSet(Protocol):
    """What has changed since the version before."""

    version: str
    filterSet: Sequence[FilterUpdate]


class PropertyFilter(Protocol):
    """A filter of a property collector."""

    def DestroyPropertyFilter(self) -> None:
        """Remove it."""


class PropertyCollector(Protocol):
    """What reports how properties of objects change."""

    def CreateFilter(
        self, spec: "vmodl.query.PropertyCollector.FilterSpec", *, partialUpdates: bool
    ) -> PropertyFilter:
        """Begin to follow what `spec` names."""

    def WaitForUpdatesEx(
        self, version: str, options: "vmodl.query.PropertyCollector.WaitOptions"
    ) -> UpdateSet | None:
        """Wait for a change since `version`; None where there is none in time."""


class AboutInfo(Protocol):
    """What answers."""

    apiType: str
    fullName: str


class ServiceContent(Protocol):
    """What a host gives to begin with."""

    about: AboutInfo
    rootFolder: Folder[Datacenter]
    fileManager: FileManager
    searchIndex: SearchIndex
    propertyCollector: PropertyCollector


class Stub(Protocol):
    """The library's connection to a host."""

    cookie: str
