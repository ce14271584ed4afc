"""An emulator's files by descriptor."""

import os
from pathlib import Path

import pytest

from vtax.platforms.unprivileged import handed_over


def test_files_are_handed_over_by_descriptor(tmp_path: Path) -> None:
    for name in ("kernel", "image"):
        (tmp_path / name).write_text(name)
    console = tmp_path / "console"
    console.write_text("of the guest before")
    words = ["qemu", "-kernel", f"{tmp_path}/kernel", "-initrd", f"{tmp_path}/image", "-smp", "1"]
    with handed_over([*words, "-serial", f"file:{console}"], os.getuid()) as (replaced, descriptors):
        kernel, image, serial = descriptors
        assert replaced == [
            *("qemu", "-kernel", f"/proc/self/fd/{kernel}", "-initrd", f"/proc/self/fd/{image}", "-smp", "1"),
            *("-serial", f"file:/proc/self/fd/{serial}"),
        ]
        assert Path(replaced[2]).read_text() == "kernel"
        assert console.read_text() == ""
    for descriptor in descriptors:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)
