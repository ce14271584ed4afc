"""Domains of libvirt's: what is read, what is refused, what is kept and what replaced."""

import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
from defusedxml.ElementTree import fromstring
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.libvirt_domains import DOMAINS, NICS, UNWANTED, wanted
from vtax.platforms import PlatformUnusable
from vtax.platforms.libvirt.definition import (
    DRIVERS,
    KEPT,
    KEPT_DEVICES,
    LEFT_OUT,
    LEFT_OUT_DEVICES,
    LIMIT_BYTES,
    parse_definition,
    read_definition,
    survey,
)
from vtax.platforms.libvirt.transform import transform


def run_as(name: str, *, emulated: bool = True) -> Element:
    found = survey(read_definition(DOMAINS / f"{name}.xml"), UNWANTED[name])
    return fromstring(transform(found, wanted(emulated=emulated)))


@pytest.mark.parametrize("name", UNWANTED)
@pytest.mark.parametrize("emulated", [True, False])
def test_a_domain_keeps_its_hardware_and_loses_itself(name: str, emulated: bool) -> None:
    own = fromstring((DOMAINS / f"{name}.xml").read_text())
    domain = run_as(name, emulated=emulated)
    assert domain.findtext("name") == "vtax-1-guest"
    assert domain.get("type") == ("qemu" if emulated else "kvm")
    assert domain.get("id") is None
    assert not {element.tag for element in domain.iter()} & {
        *(
            "uuid",
            "metadata",
            "sysinfo",
            "nvram",
            "loader",
            "disk",
            "hostdev",
            "filesystem",
            "graphics",
            "tpm",
        ),
        *("label", "alias", "vcpupin", "emulatorpin", "iothreadpin", "numatune", "boot", "resource"),
        *("bandwidth", "filterref", "virtualport", "backend"),
    }
    assert [nic.find("mac").get("address") for nic in domain.iterfind("devices/interface")] == [
        nic.mac for nic in NICS
    ]
    assert {nic.get("type") for nic in domain.iterfind("devices/interface")} == {"ethernet"}
    assert domain.find("vcpu").get("cpuset") == "0,1"
    assert domain.findtext("vcpu") == own.findtext("vcpu")
    assert domain.findtext("memory") == own.findtext("memory")
    assert domain.find("os/type").get("machine") == own.find("os/type").get("machine")
    assert [label.attrib for label in domain.iterfind("seclabel")] == [{"type": "none", "model": "dac"}]
    assert domain.findtext("os/kernel") == "/cache/vmlinux"
    channels = domain.findall("devices/channel/target")
    assert [channel.attrib for channel in channels] == [{"type": "virtio", "name": "vtax"}]
    assert [serial.find("source").get("path") for serial in domain.iterfind("devices/serial")] == [
        "/run/console"
    ]
    # Nothing of the file's own identity, storage or sockets is left anywhere.
    text = ElementTree.tostring(domain, encoding="unicode")
    assert not re.search(r"fa:16:3e|52:54:00|bc:24:11|/var/|/dev/|\.sock|192\.0\.2", text)


def test_nics_are_as_the_domain_has_them_and_more_after_the_last() -> None:
    models = [nic.find("model").get("type") for nic in run_as("proxmox").iterfind("devices/interface")]
    assert models == ["e1000", "virtio", "virtio", "virtio"]
    first, second, *_ = run_as("nfv").iterfind("devices/interface")
    for nic in (first, second):
        assert nic.find("driver").attrib == {"name": "vhost", "queues": "2", "iommu": "on", "ats": "on"}
        assert nic.find("driver/host").attrib == {"gso": "off", "tso4": "off", "tso6": "off"}
        assert nic.find("coalesce/rx/frames").get("max") == "32"
    addresses = [
        nic.find("address") is not None for nic in run_as("virt-manager").iterfind("devices/interface")
    ]
    assert addresses == [True, False, False, False]
    assert [nic.find("mtu").get("size") for nic in run_as("openstack").iterfind("devices/interface")] == [
        "1500"
    ] * 4


def test_an_emulated_cpu_has_nothing_of_kvm_and_a_real_one_all() -> None:
    emulated, real = run_as("nfv"), run_as("nfv", emulated=False)
    assert emulated.find("cpu").attrib == {"mode": "maximum"}
    assert [element.tag for element in emulated.find("cpu")] == ["topology", "numa"]
    assert real.find("cpu").get("mode") == "host-passthrough"
    assert real.find("cpu/feature").get("name") == "tsc-deadline"
    assert emulated.find("features/pmu") is None
    assert real.find("features/pmu") is not None
    assert real.findtext("cputune/shares") == emulated.findtext("cputune/shares") == "6144"
    assert run_as("proxmox").find("clock/timer") is None
    assert run_as("proxmox", emulated=False).find("clock/timer").get("name") == "kvmclock"


@pytest.mark.parametrize(
    ("name", "without", "refusal"),
    [
        ("nfv", (), "a NIC of type vhostuser does not meet this host at a tap"),
        ("nfv", ("vhostuser",), "its hostdev reaches into this host"),
        ("kubevirt", ("filesystem", "vsock"), "its <commandline> is not known to be harmless"),
        ("kubevirt", ("commandline", "vsock"), "its filesystem reaches into this host"),
        ("appliance", (), "its channel connects to /run/management.sock of this host"),
        ("openstack", ("interface",), "the domain has no NIC"),
    ],
)
def test_what_reaches_into_the_host_is_refused_unless_named(
    name: str, without: tuple[str, ...], refusal: str
) -> None:
    with pytest.raises(PlatformUnusable, match=re.escape(refusal)) as refused:
        survey(read_definition(DOMAINS / f"{name}.xml"), without)
    assert "--set platform.without=" in refused.value.fix or "needs an <interface>" in refused.value.fix


def domain(os: str = "<os><type>hvm</type></os>", devices: str = "<interface type='user'/>") -> bytes:
    return f"<domain type='kvm'>{os}<devices>{devices}</devices></domain>".encode()


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        (b"<domain type='xen'/>", "a domain of type xen is not QEMU's"),
        (domain("<os><type arch='aarch64'>hvm</type></os>"), "no virtual machine of an x86_64"),
        (domain("<os><type machine='microvm'>hvm</type></os>"), "a microvm has no PCI bus"),
        (domain("<os/>"), "no virtual machine of an x86_64"),
        (domain(devices=""), "the domain has no NIC"),
        (
            domain(devices="<interface type='user'><model type='ne2k_pci'/></interface>"),
            "no driver for .* ne2k_pci",
        ),
        (
            domain(devices="<memory model='nvdimm'><source><path>/dev/pmem0</path></source></memory>"),
            "file /dev/pmem0",
        ),
        (domain(devices="<teleporter/>"), "its teleporter reaches into this host"),
    ],
)
def test_what_vtax_cannot_run_is_refused(content: bytes, refusal: str) -> None:
    with pytest.raises(PlatformUnusable, match=refusal):
        survey(parse_definition(content))


ENTITIES = b"<!DOCTYPE domain [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]><domain>&b;</domain>"
EXTERNAL = b"<!DOCTYPE domain [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><domain>&a;</domain>"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"<domain><name>", "is not well-formed XML"),
        (b"", "is not well-formed XML"),
        (b"\x00\xff" * 9, "is not well-formed XML"),
        (b"<?xml version='1.0' encoding='klingon'?><domain/>", "is not"),
        (ENTITIES, "declares a document type or entities"),
        (EXTERNAL, "declares a document type or entities"),
        (b"<network/>", "is a <network>, not a <domain>"),
        (b"<domain>" + b" " * LIMIT_BYTES + b"</domain>", "longer than"),
        (b"<domain>" + b"<a>" * 99 + b"</a>" * 99 + b"</domain>", "nested deeper"),
    ],
)
def test_what_is_no_domain_is_named(content: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as refused:
        parse_definition(content)
    assert "\n" not in str(refused.value)


@pytest.mark.slow
@pytest.mark.fuzz
@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: f"<domain>{text}</domain>".encode()))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    try:
        survey(parse_definition(content))
    except (ValueError, PlatformUnusable) as refused:
        assert "\n" not in str(refused)


NAMES = st.sampled_from(
    sorted({*KEPT, *LEFT_OUT, *KEPT_DEVICES, *LEFT_OUT_DEVICES, "hostdev", "filesystem", "shmem"})
)
ATTRIBUTES = st.dictionaries(
    st.sampled_from(["type", "mode", "model", "name", "path"]), st.text("abc/'\"<&", max_size=5)
)


@st.composite
def elements(draw: st.DrawFn) -> Element:
    element = Element(draw(NAMES), draw(ATTRIBUTES))
    for _ in range(draw(st.integers(0, 3))):
        element.append(Element(draw(NAMES), draw(ATTRIBUTES)))
    return element


@pytest.mark.slow
@pytest.mark.fuzz
@given(
    st.lists(elements().filter(lambda element: element.tag not in ("os", "devices")), max_size=6),
    st.lists(elements().filter(lambda element: element.tag != "interface"), max_size=6),
    st.lists(st.tuples(st.sampled_from(sorted(DRIVERS)), st.integers(1, 8)), min_size=1, max_size=4),
)
def test_nothing_but_what_is_known_comes_through(
    top: list[Element], devices: list[Element], nics: list[tuple[str, int]]
) -> None:
    root = fromstring(domain(devices=""))
    root.extend(top)
    for model, queues in nics:
        nic = f"<interface type='network'><model type='{model}'/><driver queues='{queues}'/></interface>"
        devices = [*devices, fromstring(nic)]
    root.find("devices").extend(devices)
    try:
        found = survey(parse_definition(ElementTree.tostring(root)))
    except PlatformUnusable:
        return
    run = fromstring(transform(found, wanted(emulated=False)))
    assert {element.tag for element in run} <= KEPT | {
        "name",
        "on_poweroff",
        "on_reboot",
        "on_crash",
        "seclabel",
    }
    assert {device.tag for device in run.find("devices")} <= KEPT_DEVICES | {"serial", "channel"}
    expected = [nics[min(number, len(nics) - 1)] for number in range(len(NICS))]
    kept = [
        (nic.find("model").get("type"), int(nic.find("driver").get("queues")))
        for nic in run.iterfind("devices/interface")
    ]
    assert kept == expected
