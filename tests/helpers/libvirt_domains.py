"""Domains of libvirt's as other projects define them, and what vtax wants of one."""

from pathlib import Path

from tests.helpers.paths import DATA
from vtax.platforms.libvirt.transform import Wanted, WantedNic

DOMAINS = DATA / "domains"
UNWANTED = {
    "openstack": (),
    "virt-manager": (),
    "proxmox": (),
    "nfv": ("vhostuser", "hostdev"),
    "kubevirt": ("commandline", "filesystem", "vsock"),
    "appliance": ("channel",),
}
"""What each domain has to go without."""
NICS = [WantedNic(f"02:76:74:61:00:{number:02x}", f"guestp{number}", 1500) for number in range(4)]


def wanted(*, emulated: bool) -> Wanted:
    return Wanted(
        name="vtax-1-guest",
        nics=NICS,
        cpus=[0, 1],
        kernel=Path("/cache/vmlinux"),
        image=Path("/cache/image.cpio"),
        parameters="console=ttyS0",
        console=Path("/run/console"),
        emulated=emulated,
    )
