"""An emulator's files by descriptor."""

import os
from pathlib import Path

import pytest

from vtax.platforms.console import tail
from vtax.platforms.unprivileged import handed_over


def test_files_are_handed_over_by_descriptor(tmp_path: Path) -> None:
    for name in ("kernel", "image"):
        (tmp_path / name).write_text(name)
    console = tmp_path / "console"
    console.write_text("of the guest before\n")
    words = ["qemu", "-kernel", f"{tmp_path}/kernel", "-initrd", f"{tmp_path}/image", "-smp", "1"]
    with handed_over([*words, "-serial", f"file:{console}"]) as (replaced, descriptors):
        kernel, image, serial = descriptors
        assert replaced == [
            *("qemu", "-kernel", f"/proc/self/fd/{kernel}", "-initrd", f"/proc/self/fd/{image}", "-smp", "1"),
            *("-serial", "chardev:console", "-add-fd", f"fd={serial},set=1"),
            *("-chardev", "file,id=console,path=/dev/fdset/1,append=on"),
        ]
        assert Path(replaced[2]).read_text() == "kernel"
        os.write(serial, b"said\n")
        assert tail(console) == "said"
    for descriptor in descriptors:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)
