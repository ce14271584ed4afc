"""A domain's definition as the user has it: read from a file that nobody vouches for, and what may be taken of it.

Elements are those of libvirt's domain format (https://libvirt.org/formatdomain.html). What this module does not know is
refused, never passed on: a device may reach into the host.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from vtax.inputs import one_line
from vtax.platforms.contract import PlatformUnusable

LIMIT_BYTES = 1 << 20
LIMIT_DEPTH = 64
KEPT = {
    *("memory", "maxMemory", "currentMemory", "memoryBacking", "memtune", "perf", "os", "devices"),
    *("vcpu", "vcpus", "iothreads", "iothreadids", "defaultiothread", "cputune", "cpu", "features", "clock"),
}
LEFT_OUT = {
    *(
        "name",
        "uuid",
        "genid",
        "hwuuid",
        "title",
        "description",
        "metadata",
        "sysinfo",
        "seclabel",
        "resource",
    ),
    *("pm", "blkiotune", "numatune", "on_poweroff", "on_reboot", "on_crash", "on_lockfailure"),
}
"""Identity, placement, and what is done at an end: of no concern to packets."""
KEPT_DEVICES = {"emulator", "controller", "interface", "memballoon", "iommu", "memory"}
LEFT_OUT_DEVICES = {
    *(
        "disk",
        "serial",
        "console",
        "parallel",
        "channel",
        "graphics",
        "video",
        "sound",
        "audio",
        "input",
        "hub",
    ),
    *("watchdog", "panic", "rng", "tpm", "smartcard", "redirdev", "redirfilter", "lease", "nvram", "crypto"),
}
"""What stores, shows or listens: the guest lives in memory, and vtax has a console and a channel of its own."""
PASSED_NICS = {"hostdev", "vdpa", "vhostuser"}
"""Types of interfaces that do not meet the host at a tap."""
DRIVERS = {
    "virtio": "virtio_net",
    "virtio-transitional": "virtio_net",
    "virtio-non-transitional": "virtio_net",
    "e1000": "e1000",
    "e1000e": "e1000e",
    "vmxnet3": "vmxnet3",
    "rtl8139": "8139cp",
}
"""The guest kernel's driver of a NIC model of libvirt's."""
DEFAULT_MODEL = "rtl8139"
"""What libvirt gives a NIC of x86 that names no model."""


@dataclass(frozen=True)
class Definition:
    """A domain's definition that was read: its root, not to be changed, and what its file holds."""

    root: Element
    content: bytes

    @property
    def sha256(self) -> str:
        """The hash of its file."""
        return hashlib.sha256(self.content).hexdigest()

    def line_of(self, element: Element) -> int | None:
        """Return the line that an element begins in; None where the file holds its text in another encoding."""
        begin, text = f"<{local(element)}", (element.text or "").strip()
        pattern = rb"%s\b[^>]*>\s*%s" % (re.escape(begin.encode()), re.escape(text.encode()))
        found = re.search(pattern, self.content)
        return None if found is None else self.content.count(b"\n", 0, found.start()) + 1


@dataclass(frozen=True)
class Survey:
    """What of a definition can be run: its NICs in their order, and elements of it that are left out."""

    definition: Definition
    nics: tuple[Element, ...]
    left_out: frozenset[Element]

    @property
    def models(self) -> tuple[str, ...]:
        """The NICs' models, each once."""
        return tuple(dict.fromkeys(nic_model(nic) for nic in self.nics))

    @property
    def drivers(self) -> tuple[str, ...]:
        """The guest kernel's modules for these."""
        return tuple(dict.fromkeys(DRIVERS[model] for model in self.models))

    @property
    def names(self) -> list[str]:
        """What is left out, each name once."""
        return sorted({local(element) for element in self.left_out})


def read_definition(path: Path) -> Definition:
    """The definition in a file; ValueError says in words that follow the file's name what is wrong with it."""
    try:
        with path.open("rb") as file:
            content = file.read(LIMIT_BYTES + 1)
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    return parse_definition(content)


def parse_definition(content: bytes) -> Definition:
    """The same of the bytes of a file."""
    if len(content) > LIMIT_BYTES:
        raise ValueError(f"is no domain: longer than {LIMIT_BYTES} bytes")
    try:
        root = fromstring(content, forbid_dtd=True)
    except ParseError as error:
        raise ValueError(f"is not well-formed XML: {one_line(str(error))}") from None
    except DefusedXmlException:
        raise ValueError("declares a document type or entities; a domain has neither: remove them") from None
    except (ValueError, LookupError) as error:  # an encoding that is none
        raise ValueError(f"is not XML: {one_line(str(error))}") from None
    if root.tag != "domain":
        raise ValueError(
            f"is a <{one_line(root.tag)[:40]}>, not a <domain>; write one with: virsh dumpxml NAME"
        )
    if _depth(root) > LIMIT_DEPTH:
        raise ValueError(f"is no domain: elements are nested deeper than {LIMIT_DEPTH}")
    return Definition(root, content)


def survey(definition: Definition, without: Iterable[str] = ()) -> Survey:
    """What can be run; raises PlatformUnusable for what cannot, unless it is named in `without`."""
    root, unwanted = definition.root, frozenset(without)
    _check_machine(root)
    left_out: set[Element] = set()
    for element in root:
        if element.tag in LEFT_OUT or local(element) in unwanted:
            left_out.add(element)
        elif element.tag not in KEPT:
            raise _refused(f"its <{local(element)}> is not known to be harmless to this host", local(element))
    nics: list[Element] = []
    for device in root.iterfind("devices/*"):
        name, why = _passed_through(device)
        if local(device) in unwanted or name in unwanted:
            left_out.add(device)
        elif why is not None:
            raise _refused(why, name)
        elif device.tag in LEFT_OUT_DEVICES:
            left_out.add(device)
        elif device.tag == "interface":
            nics.append(_checked_nic(device))
    if not nics:
        raise PlatformUnusable(
            "the domain has no NIC that could be the pattern of those that are measured",
            "needs an <interface> in the domain's <devices>",
        )
    return Survey(definition, tuple(nics), frozenset(left_out))


def nic_model(nic: Element) -> str:
    """The model of a NIC, as libvirt names it."""
    model = nic.find("model")
    return model.get("type", DEFAULT_MODEL) if model is not None else DEFAULT_MODEL


def local(element: Element) -> str:
    """An element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def _check_machine(root: Element) -> None:
    kind = root.get("type")
    if kind not in ("kvm", "qemu"):
        raise PlatformUnusable(
            f"a domain of type {_shown(kind)} is not QEMU's", "needs a domain of type kvm or qemu"
        )
    boots = root.find("os/type")
    machine = boots.get("machine", "") if boots is not None else ""
    if boots is None or (boots.text or "").strip() != "hvm" or boots.get("arch", "x86_64") != "x86_64":
        raise PlatformUnusable(
            "the domain is no virtual machine of an x86_64", "needs <type arch='x86_64'>hvm</type> in <os>"
        )
    if machine == "microvm":
        raise PlatformUnusable("a microvm has no PCI bus", "needs a machine of the families pc or q35")


def _passed_through(device: Element) -> tuple[str, str | None]:
    """The name that a device is left out by, and why it is refused otherwise, None where it is not."""
    name, kind = local(device), device.get("type", "")
    source = device.find("source")
    if device.tag == "interface" and kind in PASSED_NICS:
        return kind, f"a NIC of type {kind} does not meet this host at a tap"
    if device.tag in ("channel", "serial", "parallel", "console") and source is not None:
        if source.get("mode") == "connect":
            return name, f"its {name} connects to {_shown(source.get('path') or kind)} of this host"
        return name, None
    if device.tag == "memory" and source is not None and source.find("path") is not None:
        return name, f"its memory module is the file {_shown(source.findtext('path'))} of this host"
    if device.tag in KEPT_DEVICES or device.tag in LEFT_OUT_DEVICES:
        return name, None
    return name, f"its {name} reaches into this host"


def _checked_nic(nic: Element) -> Element:
    if (model := nic_model(nic)) not in DRIVERS:
        raise PlatformUnusable(
            f"guests have no driver for a NIC of model {_shown(model)}", f"needs one of {', '.join(DRIVERS)}"
        )
    return nic


def _refused(why: str, name: str) -> PlatformUnusable:
    return PlatformUnusable(why, f"needs it taken out, or to be left out with --set platform.without={name}")


def _shown(text: str | None) -> str:
    return one_line(text or "none")[:60]


def _depth(root: Element) -> int:
    level: list[Element] = [root]
    depth = 0
    while level:
        level, depth = list(_children(level)), depth + 1
    return depth


def _children(elements: Iterable[Element]) -> Iterator[Element]:
    for element in elements:
        yield from element
