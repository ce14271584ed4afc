"""The domain that is run: the user's definition with vtax's identity, NICs, kernel, console and channel in it.

Pure: nothing but the definition and what is wanted decides what comes out.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

from vtax.platforms.libvirt.definition import Survey

KEPT_OF_NICS = ("driver", "tune", "coalesce", "model", "address")
"""Queues, rings, offloads and the NIC itself; the rest says what it is joined to."""
REPLACED_DEVICES = ("interface", "emulator")
OF_KVM = ("features/hyperv", "features/kvm", "features/xen", "features/pvspinlock", "features/pmu")
KVM_TIMERS = ("kvmclock", "hypervclock", "tsc")
PINNING = ("vcpupin", "emulatorpin", "iothreadpin")
KEPT_OF_EMULATED_CPUS = ("topology", "numa")
REPLACED = ("identity", "firmware and boot", "CPU placement", "MACs and ports of NICs", "console", "channel")
"""What no domain keeps, in the words of results."""
REPLACED_BY_EMULATION = ("CPU model and features of KVM", "vhost by the emulator's own back end")
"""What only KVM can give; libvirt gives no vhost without it."""


@dataclass(frozen=True)
class WantedNic:
    """A NIC of the domain that is run: its MAC, the tap that libvirt makes for it, its MTU."""

    mac: str
    tap: str
    mtu: int


@dataclass(frozen=True)
class Wanted:
    """What a domain is run as."""

    name: str
    nics: Sequence[WantedNic]
    cpus: Sequence[int]
    """Of the host; all of the domain's threads float over them."""
    kernel: Path
    image: Path
    parameters: str
    console: Path | None
    """The file that the guest's kernel speaks into; None for nowhere."""
    emulated: bool
    emulator: Path | None = None
    """What runs it, as no link can lead elsewhere; None for libvirt's own choice."""


def transform(found: Survey, wanted: Wanted) -> str:
    """The XML of the domain that is run."""
    definition = found.definition.root
    nics = [_nic(found, number, nic) for number, nic in enumerate(wanted.nics)]
    root = Element("domain", type="qemu" if wanted.emulated else "kvm")
    SubElement(root, "name").text = wanted.name
    for element in definition:
        if element not in found.left_out and element.tag not in ("os", "devices"):
            root.append(copy.deepcopy(element))
    _place(root, wanted.cpus)
    if wanted.emulated:
        _without_kvm(root)
    root.append(_boot(definition, wanted))
    for event in ("on_poweroff", "on_reboot", "on_crash"):
        SubElement(root, event).text = "destroy"
    # A daemon would give the emulator's user the guest's kernel, which is every guest's.
    SubElement(root, "seclabel", type="none", model="dac")
    devices = SubElement(root, "devices")
    if wanted.emulator is not None:
        SubElement(devices, "emulator").text = str(wanted.emulator)
    for device in definition.iterfind("devices/*"):
        if device not in found.left_out and device.tag not in REPLACED_DEVICES:
            devices.append(copy.deepcopy(device))
    devices.extend(nics)
    devices.append(_console(wanted.console))
    devices.append(_channel())
    for parent in list(root.iter()):
        for alias in parent.findall("alias"):
            parent.remove(alias)
    return tostring(root, encoding="unicode")


def _nic(found: Survey, number: int, wanted: WantedNic) -> Element:
    """The NIC of this number, or one more after the pattern of the last."""
    pattern = found.nics[min(number, len(found.nics) - 1)]
    nic = Element("interface", type="ethernet")
    SubElement(nic, "mac", address=wanted.mac)
    SubElement(nic, "target", dev=wanted.tap)
    for element in pattern:
        if element.tag in KEPT_OF_NICS and (element.tag != "address" or number < len(found.nics)):
            nic.append(copy.deepcopy(element))
    if pattern.find("mtu") is not None:
        SubElement(nic, "mtu", size=str(wanted.mtu))
    SubElement(nic, "rom", enabled="no")
    return nic


def _place(root: Element, cpus: Sequence[int]) -> None:
    """Have all threads on the testbed's CPUs: the definition's numbers are those of another machine."""
    vcpu = root.find("vcpu")
    if vcpu is None:
        vcpu = SubElement(root, "vcpu")
        vcpu.text = "1"
    vcpu.set("placement", "static")
    vcpu.set("cpuset", ",".join(map(str, cpus)))
    for tune in root.findall("cputune"):
        for pin in [element for element in tune if element.tag in PINNING]:
            tune.remove(pin)


def _without_kvm(root: Element) -> None:
    """Take out what only KVM can give: an emulated CPU has its own features."""
    for path in OF_KVM:
        _remove(root, path)
    for ioapic in root.findall("features/ioapic"):
        ioapic.attrib.pop("driver", None)
    for clock in root.findall("clock"):
        for timer in clock.findall("timer"):
            if timer.get("name") in KVM_TIMERS:
                clock.remove(timer)
    emulated = Element("cpu", mode="maximum")
    for cpu in root.findall("cpu"):
        emulated.extend([element for element in cpu if element.tag in KEPT_OF_EMULATED_CPUS])
        root.remove(cpu)
    root.append(emulated)


def _remove(root: Element, path: str) -> None:
    parent_path, _, name = path.rpartition("/")
    for parent in root.findall(parent_path):
        for element in parent.findall(name):
            parent.remove(element)


def _boot(definition: Element, wanted: Wanted) -> Element:
    boot = Element("os")
    boot.extend([copy.deepcopy(element) for element in definition.findall("os/type")])
    SubElement(boot, "kernel").text = str(wanted.kernel)
    SubElement(boot, "initrd").text = str(wanted.image)
    SubElement(boot, "cmdline").text = wanted.parameters
    return boot


def _console(path: Path | None) -> Element:
    serial = Element("serial", type="null" if path is None else "file")
    if path is not None:
        SubElement(serial, "source", path=str(path))
    SubElement(serial, "target", port="0")
    return serial


def _channel() -> Element:
    """The agent's: libvirt chooses the socket's place, where its own rules let the emulator listen."""
    channel = Element("channel", type="unix")
    SubElement(channel, "source", mode="bind")
    SubElement(channel, "target", type="virtio", name="vtax")
    return channel
