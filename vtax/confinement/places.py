"""What reading a result takes of a machine: the code, and what libraries look up of the system."""

import os
import sys
from pathlib import Path

from vtax.confinement.landlock import READ, WRITE_FILE, below

SYSTEM = [
    *map(Path, ("/usr", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store")),
    *(
        Path("/etc") / name
        for name in (
            *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "timezone", "nsswitch.conf"),
            *("passwd", "group", "os-release", "locale.alias", "fonts", "ssl", "mime.types"),
        )
    ),
    *(Path("/proc") / name for name in ("self", "cpuinfo", "meminfo", "stat", "filesystems", "sys/vm")),
    *(Path("/sys") / name for name in ("devices/system/cpu", "devices/system/node", "fs/cgroup")),
]
"""Programs and libraries; names of users, time zone and fonts; how many CPUs and how much memory there are."""
DEVICES = below(map(Path, ("/dev/zero", "/dev/random", "/dev/urandom")), READ) | {
    Path(os.devnull): READ | WRITE_FILE
}


BROWSERS_SETTINGS = (
    *("chromium", "chromium.d", "chromium-browser", "opt", "alternatives", "debian_version", "lsb-release"),
    *("machine-id", "hosts", "host.conf", "gai.conf", "resolv.conf", "ca-certificates", "pki"),
    *("X11", "gtk-3.0", "dconf", "drirc", "vulkan", "OpenCL"),
)
"""Of `/etc`."""


def code() -> list[Path]:
    """Return where vtax, Python and their libraries lie; the directory that Python was started in is none of these."""
    searched = sys.path if sys.flags.safe_path else sys.path[1:]
    linked = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    named = [sys.prefix, sys.base_prefix, *searched, *linked]
    package = Path(__file__).resolve().parent.parent
    return list(dict.fromkeys([package, *map(Path, filter(os.path.isabs, named))]))


def browsers() -> list[Path]:
    """Return what a browser reads beside: itself where it is not the system's, its processes, and fonts."""
    home = Path.home()
    named = os.environ.get("BROWSER_PATH")
    return [
        *map(Path, ("/opt", "/proc", "/sys", "/var/cache/fontconfig", "/var/lib/dbus")),
        *(Path("/etc") / name for name in BROWSERS_SETTINGS),
        *(home / name for name in (".fonts", ".local/share/fonts", ".config/fontconfig")),
        home / ".local/share/choreographer",
        *([Path(named).parent] if named else []),
    ]
