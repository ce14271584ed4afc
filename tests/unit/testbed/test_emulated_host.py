"""Machines that vtax emulates: QEMU's words, what their image is made of, and the mark that they bear."""

import json
import subprocess
import sys
from importlib.metadata import packages_distributions
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.helpers.probed import probed
from vtax.machine import emulation
from vtax.machine.tsc import tsc_khz
from vtax.platforms import PlatformUnusable, Probe
from vtax.testbed import machines
from vtax.testbed.emulated import image, machine
from vtax.testbed.emulated.machine import EmulatedKeys, command


@pytest.fixture
def nothing_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "fetch_kernel", lambda: SimpleNamespace(vmlinux=Path("/c/vmlinux")))
    monkeypatch.setattr(machine, "find_emulator", lambda _: SimpleNamespace(command=["qemu"]))
    monkeypatch.setattr(machine, "build_host_image", lambda _: Path("/c/image.cpio"))
    monkeypatch.setattr(machine, "unpack_hypervisor", lambda: Path("/c/xen"))


def after(words: list[str], option: str) -> list[str]:
    return [word for before, word in pairwise(words) if before == option]


def test_xen_has_dom0_as_its_module(nothing_built: None) -> None:
    words = command(EmulatedKeys(hypervisor="xen", vcpus=2, memory_bytes=4 << 30), [7, 8])
    assert after(words, "-kernel") == ["/c/xen"]
    (modules,) = after(words, "-initrd")
    assert modules.startswith("/c/vmlinux console=hvc0 ")
    assert modules.endswith(f" {emulation.WORD},/c/image.cpio")
    (xen,) = after(words, "-append")
    assert "dom0_mem=2048M,max:2048M dom0_max_vcpus=2 dom0_vcpus_pin" in xen
    assert [word.split(",")[:3] for word in after(words, "-netdev")] == [
        ["tap", "id=n0", "fd=7"],
        ["tap", "id=n1", "fd=8"],
    ]


def test_kvm_has_a_plain_kernel(nothing_built: None) -> None:
    words = command(EmulatedKeys(hypervisor="kvm"), [])
    assert after(words, "-kernel") == ["/c/vmlinux"]
    assert after(words, "-initrd") == ["/c/image.cpio"]
    assert {emulation.WORD, f"tsc_early_khz={tsc_khz()}"} <= {*after(words, "-append")[0].split()}
    assert after(words, "-netdev") == []


def test_another_python_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image, "PYTHON", (3, 9))
    with pytest.raises(PlatformUnusable, match=r"that of an emulated host's packages is 3\.9"):
        image.build_host_image.__wrapped__(SimpleNamespace(package="linux", version="6"))


IMPORTED = """
import json, sys
class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in foreign:
            raise ModuleNotFoundError(f"no {name} in the image", name=name)
foreign = set(json.loads(sys.argv[1]))
sys.meta_path.insert(0, Refused())
import vtax.cli, vtax.commands.host, vtax.testbed.remote.server
from vtax.platforms.preset import kinds, load_kind
[load_kind(kind) for kind in kinds()]
print(*{name.partition(".")[0] for name in sys.modules})
"""


def test_the_image_has_what_vtax_host_imports() -> None:
    """Whatever else is installed here is refused there, so that a library does without where it can."""
    of = packages_distributions()
    there = {_plain(name) for name in image._needed(image.LIBRARIES)} | {"vtax"}
    foreign = [name for name, (first, *_) in of.items() if _plain(first) not in there]
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, json.dumps(foreign)], check=True, capture_output=True, text=True
    )
    imported = {_plain(of[name][0]) for name in done.stdout.split() if name in of}
    assert {"pydantic", "pyroute2", "rich"} <= imported


def _plain(distribution: str) -> str:
    return distribution.lower().replace("_", "-")


def test_the_image_has_all_of_vtax() -> None:
    assert {"cli.py", "init"} <= {path.name for path in image._own_files()}
    subprocess.run(["sh", "-n", str(image.INIT)], check=True)


def test_whatever_runs_on_an_emulated_machine_is_emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    class Kind:
        def prepare(self, config: object, packages: object) -> Probe:
            return Probe("kvm", {"version": "7.2"})

    monkeypatch.setattr(machines, "load_kind", lambda _: SimpleNamespace(Kind=Kind))
    here = machines.ThisMachine()
    assert here.prepare("qemu", None, None) == Probe("kvm", {"version": "7.2"})  # type: ignore[arg-type]
    monkeypatch.setattr(machines, "is_emulated", lambda: True)
    there = machines.ThisMachine()
    assert there.prepare("qemu", None, None) == Probe("emulated", {"version": "7.2"})  # type: ignore[arg-type]


def test_an_emulated_machine_has_two_guests_at_most() -> None:
    cells, platforms = probed("anhalt2009/sending", "guests=2,4", "transport=udp")
    assert platforms.refused
    for key, why in platforms.refused.items():
        assert "platform=kvm-vhost" in key
        assert "guests=4" in key
        assert (why.reason, why.fix) == (
            "4 guests are more than the 2 that an emulated machine bears",
            "needs fewer guests, neighbours or hops",
        )
    left = {cell.testbed.guests for cell in cells if cell.key not in platforms.refused}
    assert left == {2, 4}, "raw has none of its own"


def test_it_is_given_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert emulation.patience(2.0) == 2.0
    monkeypatch.setattr(emulation, "is_emulated", lambda: True)
    assert emulation.patience(2.0) == 2.0 * emulation.SLOWNESS
