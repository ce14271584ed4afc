"""How production holds a guest: whether it is held so, and a container's paths and system calls."""

from functools import cache
from pathlib import Path
from typing import Literal, NotRequired, TypedDict

import msgspec
from pydantic import Field

from vtax.inputs import read_document
from vtax.machine.fix import allow_user_namespaces
from vtax.platforms.contract import Fact, PlatformUnusable
from vtax.platforms.egress_qdisc import GuestConfig

USER_NAMESPACES = Path("/proc/sys/user/max_user_namespaces")
"""How many may be made; absent where the kernel knows none."""
MASKED_PATHS = (
    "/proc/acpi",
    "/proc/asound",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/firmware",
)
"""What `runc spec` masks."""
READ_ONLY_PATHS = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sysrq-trigger")
"""What `runc spec` has read-only beside /proc/sys."""
SETTINGS = Path("/proc/sys")
OWN_SETTINGS = "net"
"""Those below `SETTINGS` of its own network namespace, which the agent writes."""
SYSTEM_CALLS = Path(__file__).resolve().parent.parent / "data/seccomp/container.yaml"


class ConfinedConfig(GuestConfig):
    """Keys of guests that are confined unless the scenario compares them with such as are not."""

    isolation: Literal["production", "none"] = Field(
        "production",
        description="what holds a guest from the host: what production has, or nothing beyond the least",
    )

    @property
    def confined(self) -> bool:
        """Whether a guest is held as production holds it."""
        return self.isolation == "production"

    @property
    def facts(self) -> dict[str, Fact]:
        """What the probe states of the keys."""
        return {"isolation": self.isolation, **super().facts}


def check_user_namespaces() -> None:
    """Raise PlatformUnusable where no user namespace can be made."""
    if not USER_NAMESPACES.exists():
        raise PlatformUnusable(
            "this kernel has no user namespaces", "needs a kernel with CONFIG_USER_NS, or isolation: none"
        )
    if int(USER_NAMESPACES.read_text()) == 0:
        raise PlatformUnusable(
            f"no user namespaces are allowed: {USER_NAMESPACES} is 0", allow_user_namespaces()
        )


def read_only_paths() -> list[str]:
    """What a container cannot write: all of this kernel's settings but those of its own network namespace."""
    settings = sorted(str(path) for path in SETTINGS.iterdir() if path.name != OWN_SETTINGS)
    return [*READ_ONLY_PATHS, *settings]


class ArgumentTest(TypedDict):
    """What an argument of a system call has to be."""

    index: int
    op: str
    value: int
    valueTwo: NotRequired[int]


class Rule(TypedDict):
    """What happens to system calls."""

    action: Literal["SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO"]
    names: list[str]
    args: NotRequired[list[ArgumentTest]]
    errnoRet: NotRequired[int]


class SystemCalls(TypedDict):
    """A filter of system calls: linux.seccomp of the OCI's runtime specification."""

    defaultAction: Literal["SCMP_ACT_ERRNO"]
    defaultErrnoRet: int
    architectures: list[str]
    syscalls: list[Rule]


@cache
def system_calls() -> SystemCalls:
    """The filter of a confined container."""
    return msgspec.convert(read_document(SYSTEM_CALLS).data, SystemCalls)
