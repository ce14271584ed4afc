"""What an OCI runtime is given: a bundle, and the cgroups it can work with."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

import msgspec
from pydantic import JsonValue

from vtax.machine.agent import agent_binary
from vtax.machine.cgroups import Mixture, find_mixture
from vtax.machine.fix import install
from vtax.machine.user_namespace import IDS, Namespaces
from vtax.platforms.confinement import MASKED_PATHS, read_only_paths, system_calls
from vtax.platforms.contract import PlatformUnusable


class Mount(TypedDict):
    """A mount as of the OCI's runtime specification."""

    destination: str
    type: str
    source: str
    options: list[str]


def _mount(destination: str, kind: str, source: str, options: list[str]) -> Mount:
    return {"destination": destination, "type": kind, "source": source, "options": options}


SYSTEM_MOUNTS = (
    _mount("/proc", "proc", "proc", []),
    _mount("/sys", "sysfs", "sysfs", ["ro", "nosuid", "noexec"]),
    _mount("/dev", "tmpfs", "tmpfs", ["nosuid", "mode=755"]),
)
CAPABILITIES = ["CAP_NET_ADMIN", "CAP_NET_RAW"]
PROGRAM_CAPABILITIES = ["CAP_KILL", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID"]
"""What an agent needs to start programs that have none, and to end them."""
HOST_DIRECTORIES = [
    Path(name) for name in ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt")
]
"""Where a host's programs are, with what they need."""
NEW_TMP = ["nosuid", "nodev", "size=64m"]
"""How programs' /tmp is mounted, from tmpfs."""
PLACE = "/mnt"
"""Where a runtime finds a guest's bundle that is not to be reached through the host's directories."""
REFUSES_MIXTURE = {"crun"}
"""Runtimes that start nothing on a machine with both versions of cgroups."""


def find_runtime(name: str) -> str:
    """The path of a runtime; raises PlatformUnusable when it is not installed."""
    path = shutil.which(name)
    if path is None:
        raise PlatformUnusable(f"no {name} command found", install(name))
    return path


def runtime_command(name: str, root: Path, binary: str | None = None) -> list[str]:
    """How a runtime that keeps its state under `root` is called, that of a path or the installed one; arguments follow.

    Every call has to go this way: what was made without cgroup2 in view is also removed without it.
    """
    command = [binary or find_runtime(name), "--root", str(root)]
    mixture = _refused_mixture(name)
    return mixture.hide(command) if mixture else command


def at_place(bundle: Path) -> list[str]:
    """What precedes a runtime that is to find `bundle` at PLACE, in a mount namespace of its own.

    The directories above it are root's alone, and whoever mounts a guest's root is another user.
    """
    return [
        *("unshare", "--mount", "--propagation", "slave", "--"),
        *("sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', str(bundle), PLACE),
    ]


def check_limits(name: str, controllers: Sequence[str]) -> None:
    """Raise PlatformUnusable for a cgroup controller that the runtime would not see here."""
    mixture = _refused_mixture(name)
    for controller in controllers:
        if mixture and controller not in mixture.controllers:
            raise PlatformUnusable(
                f"{name} cannot limit {controller} here: it works with cgroups of version 1 or 2, not with both, "
                f"and {controller} is not among those of version 1",
                "needs runtime: runc, or a boot with systemd.unified_cgroup_hierarchy=1",
            )


def _refused_mixture(name: str) -> Mixture | None:
    return find_mixture() if name in REFUSES_MIXTURE else None


def write_bundle(
    bundle: Path,
    netns: Path,
    cpus: Sequence[int],
    memory_bytes: int | None,
    *,
    programs: bool = False,
    beside: Sequence[str] = (),
    owner: Namespaces | None = None,
) -> None:
    """An OCI bundle (runtime-spec 1.0.2) whose root holds the agent, and the host's programs or nothing else.

    `beside` are capabilities of the agent that it has beside those of every container. With `owner`, the user
    namespace that `netns` belongs to, the container is confined as production confines it.
    """
    root = bundle / "rootfs"
    mounts = [*SYSTEM_MOUNTS, *(program_mounts() if programs else ())]
    # Whoever mounts there may make no directories: a guest's root is another user.
    for directory in (bundle, root, *(root / mount["destination"].lstrip("/") for mount in mounts)):
        directory.mkdir(parents=True, exist_ok=True)
        directory.chmod(0o755)
    if programs:
        # runc gives a new /tmp the mode of the directory that it finds there.
        (root / "tmp").chmod(0o1777)
    agent = root / "vtax-agent"
    shutil.copyfile(agent_binary(), agent)
    agent.chmod(0o755)
    granted = [*capabilities(programs=programs), *beside]
    resources: dict[str, dict[str, str | int]] = {"cpu": {"cpus": ",".join(map(str, cpus))}}
    if memory_bytes is not None:
        resources["memory"] = {"limit": memory_bytes}
    (bundle / "config.json").write_text(
        json.dumps(
            {
                "ociVersion": "1.0.2",
                "root": {"path": "rootfs", "readonly": True},
                "hostname": "guest",
                "process": {
                    "user": {"uid": 0, "gid": 0},
                    "cwd": "/",
                    "args": ["/vtax-agent"],
                    "env": ["PATH=/"],
                    "noNewPrivileges": True,
                    "capabilities": dict.fromkeys(("bounding", "effective", "permitted"), granted),
                },
                "mounts": mounts,
                "linux": {
                    "namespaces": [
                        *({"type": kind} for kind in ("pid", "ipc", "uts", "mount")),
                        {"type": "network", "path": str(netns)},
                        *([{"type": "user", "path": str(owner.user)}] if owner else ()),
                    ],
                    "resources": resources,
                    **(_confinement(owner) if owner else {}),
                },
            }
        )
    )


def _confinement(owner: Namespaces) -> dict[str, JsonValue]:
    """What of `linux` in a bundle keeps a container from the host's kernel."""
    mapping: list[JsonValue] = [{"containerID": 0, "hostID": owner.ids.first, "size": IDS}]
    return {
        "uidMappings": mapping,
        "gidMappings": mapping,
        "maskedPaths": [*MASKED_PATHS],
        "readonlyPaths": [*read_only_paths()],
        "seccomp": msgspec.to_builtins(system_calls()),
    }


def capabilities(*, programs: bool) -> list[str]:
    """What a container's agent may do."""
    return [*CAPABILITIES, *(PROGRAM_CAPABILITIES if programs else ())]


def program_mounts() -> list[Mount]:
    """Where programs of the host are, read-only; a /tmp that is new and bounded."""
    old = ["rbind", "ro", "nosuid", "nodev"]
    bound = [_mount(str(place), "bind", str(place), old) for place in HOST_DIRECTORIES if place.is_dir()]
    return [_mount("/tmp", "tmpfs", "tmpfs", NEW_TMP), *bound]  # noqa: S108 - the container's own
