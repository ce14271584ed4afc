"""Guest images in which something goes wrong."""

import subprocess
from pathlib import Path

from vtax.machine.agent import agent_binary
from vtax.platforms.cpio import newc_archive

SOURCE = Path(__file__).parent / "init.c"


def with_fault(image: Path, fault: str, directory: Path) -> Path:
    """`image` with an init that starts the agent and, once frames flow, lets `fault` happen (see init.c).

    An initramfs may be several archives in a row; a later one replaces files of an earlier one.
    """
    init = directory / "init"
    subprocess.run(["clang", "-static", "-O1", "-Wall", "-Werror", "-o", init, SOURCE], check=True)
    files = {
        "init": (0o100755, init.read_bytes()),
        "agent": (0o100755, agent_binary().read_bytes()),
        "fault": (0o100644, fault.encode()),
    }
    archive = directory / f"{fault}.cpio"
    archive.write_bytes(image.read_bytes() + newc_archive([], files))
    return archive
