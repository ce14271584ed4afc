"""Kernels and initrds of the user's own inside guests: booted by their paths, and what they lack is named."""

import shutil
from pathlib import Path

import pytest

from tests.helpers.campaigns import assert_measured, vtax
from vtax.inputs.own_file import hash_file
from vtax.platforms.cpio import newc_archive
from vtax.platforms.kernel import fetch_kernel
from vtax.results import Result

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

EMULATED = ("--platform", "qemu-microvm", "--set", "platform.accelerator=emulated")
SHORT = ("--set", "intended_mbps=0.5", "--repetitions", "1")


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """The distribution's kernel, as a build of somebody's."""
    (found,) = (fetch_kernel().root / "boot").glob("vmlinuz-*")
    return Path(shutil.copy(found, tmp_path / "bzImage"))


def initrd(directory: Path, *modules: str) -> Path:
    """An archive of some of the distribution's modules, without a list of what is built in."""
    kernel = fetch_kernel()
    root = kernel.root / "lib/modules" / kernel.version
    paths = dict.fromkeys(path for module in modules for path in kernel.load_order(module))
    order = {module: kernel.load_order(module) for module in modules}
    lines = [
        f"{files[-1].relative_to(root)}: {' '.join(str(path.relative_to(root)) for path in files[-2::-1])}\n"
        for files in order.values()
    ]
    files = {f"lib/modules/{kernel.version}/modules.dep": (0o100644, "".join(lines).encode())}
    files |= {str(path.relative_to(kernel.root)): (0o100644, path.read_bytes()) for path in paths}
    place = directory / "initrd"
    place.write_bytes(newc_archive([], files))
    return place


def test_a_qemu_guest_boots_it_with_modules_of_its_initrd(
    image: Path, scenario: Path, tmp_path: Path
) -> None:
    early = initrd(tmp_path, "virtio_mmio", "virtio_console", "virtio_net")
    options = ["--set", f"platform.kernel={image}", "--set", f"platform.initrd={early}"]
    done = vtax("run", scenario, *EMULATED, *options, *SHORT, "--out", tmp_path / "out")
    assert_measured(done)
    facts = Result.open(tmp_path / "out").campaign["platforms"]["qemu-microvm"]["facts"]
    assert facts["guest_kernel"] == fetch_kernel().version
    assert facts["files"] == {
        str(image): {"sha256": hash_file(str(image)), "version": facts["guest_kernel"]},
        str(early): {"sha256": hash_file(str(early))},
    }


@pytest.mark.parametrize(
    ("modules", "said"),
    [
        ((), "has to have CONFIG_BLK_DEV_INITRD, CONFIG_DEVTMPFS, virtio_mmio, virtio_console, virtio_net"),
        (
            ("virtio_mmio", "virtio_console"),
            "finds no NIC: it has to have virtio_net built in, or as a module in platform.initrd",
        ),
    ],
)
def test_what_a_kernel_lacks_is_named(
    modules: tuple[str, ...], said: str, image: Path, scenario: Path, tmp_path: Path
) -> None:
    options = ["--set", f"platform.kernel={image}"]
    options += ["--set", f"platform.initrd={initrd(tmp_path, *modules)}"] if modules else []
    done = vtax("run", scenario, *EMULATED, *options, *SHORT, "--out", tmp_path / "out")
    assert done.returncode == 3
    assert said in done.stderr
