"""Xen's own tools, as dom0 has them: what they are asked, and what they tell."""

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from vtax.platforms.contract import PlatformUnusable
from vtax.platforms.xen.clock import check_clock

HYPERVISOR = Path("/sys/hypervisor/type")
CAPABILITIES = Path("/proc/xen/capabilities")
NEEDS = "needs vtax in dom0 of a Xen machine, whose tools are running; docs/platforms.md"
TOOLS = ("xl", "xenstore-write", "xenconsole")
PRIVATE = ("/usr/lib/xen-{version}/bin", "/usr/lib/xen/bin", "/usr/libexec/xen/bin", "/usr/local/lib/xen/bin")
"""Where tools are that xl starts and nobody else, by distribution."""
XL_TIMEOUT_S = 120.0
"""An emulated host's CPU takes its time."""
HOST = "Domain-0"
USUAL_WEIGHT = 256
"""What Xen gives every domain (xl-sched-credit(8))."""


def check_toolstack() -> None:
    """Look whether this is dom0 of a Xen machine with its tools; raises PlatformUnusable."""
    if _content(HYPERVISOR) != "xen":
        raise PlatformUnusable("this machine does not run Xen", NEEDS)
    if "control_d" not in _content(CAPABILITIES):
        raise PlatformUnusable("this is a guest of Xen, not its dom0", NEEDS)
    for tool in TOOLS:
        if not Path(tool_path(tool)).exists():
            raise PlatformUnusable(f"no {tool} command found", NEEDS)
    check_clock()


def xl(*words: str) -> str:
    """What `xl` prints; raises OSError with what it complains of."""
    command = [tool_path("xl"), *words]
    done = subprocess.run(
        command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=XL_TIMEOUT_S
    )
    if done.returncode != 0:
        complaint = done.stderr.strip() or f"it exited with status {done.returncode}"
        raise OSError(f"xl {words[0]}: {complaint}")
    return done.stdout


def tool_path(tool: str) -> str:
    """Where a tool is, for commands that work in any later process; its name where it is nowhere."""
    version = ".".join(_content(HYPERVISOR.parent / "version" / part) for part in ("major", "minor"))
    private = ":".join(place.format(version=version) for place in PRIVATE)
    return shutil.which(tool) or shutil.which(tool, path=private) or tool


@cache
def facts() -> dict[str, str]:
    """What `xl info` tells, by its own names."""
    found = re.findall(r"^(\w+)\s*: (.*)$", xl("info"), re.MULTILINE)
    return {name: told.strip() for name, told in found}


def domain_id(name: str) -> int:
    """The number of a domain; raises OSError where there is none of that name."""
    return int(xl("domid", name))


def has_domain(name: str) -> bool:
    """Return whether Xen has a domain of that name."""
    return name in xl("list").split()


def check_weights() -> None:
    """Raise PlatformUnusable where the scheduler knows no weights."""
    if (scheduler := facts()["xen_scheduler"]) not in ("credit", "credit2"):
        raise PlatformUnusable(
            f"Xen's scheduler {scheduler} knows no weights", "needs sched=credit2 on Xen's command line"
        )


def weight_of(name: str) -> int:
    """The weight of a domain."""
    _, weights = xl(_scheduler(), "-d", name).splitlines()
    return int(weights.split()[2])


def weigh(name: str, weight: int) -> None:
    """Give a domain a weight; raises OSError."""
    xl(_scheduler(), "-d", name, "-w", str(weight))


def connect_backend(domain: int, number: int) -> None:
    """Tell netback that the dom0 side of a domain's NIC is set up, as a hotplug script would."""
    path = f"/local/domain/0/backend/vif/{domain}/{number}/hotplug-status"
    subprocess.run(
        [tool_path("xenstore-write"), path, "connected"],
        check=True,
        capture_output=True,
        timeout=XL_TIMEOUT_S,
    )


def _scheduler() -> str:
    """The subcommand of xl that tells and sets weights."""
    return f"sched-{facts()['xen_scheduler']}"


def _content(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
