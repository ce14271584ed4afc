"""LXC containers: the host's kernel behind a second pair of interfaces, without a network of LXC's own."""

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from vtax.machine import cgroups
from vtax.machine.agent import agent_binary
from vtax.machine.namespace import Namespace
from vtax.machine.ownership import REMOVAL_LIMIT_S, Name, Owned
from vtax.machine.user_namespace import Namespaces
from vtax.platforms.confinement import (
    MASKED_PATHS,
    READ_ONLY_PATHS,
    ArgumentTest,
    ConfinedConfig,
    SystemCalls,
    check_user_namespaces,
    system_calls,
)
from vtax.platforms.contract import GuestPlan, PlatformUnusable, Probe, ProgramsOf
from vtax.platforms.launch import DIES_WITH_US
from vtax.platforms.oci import NEW_TMP, PLACE, capabilities
from vtax.platforms.package import check_tools
from vtax.platforms.program import OwnProgramConfig, told_version
from vtax.platforms.raw import require_agent, require_protocols, require_root
from vtax.platforms.runtime import Container, ContainerGuest, start_container
from vtax.platforms.userland import Userland, fetch_userland
from vtax.stages.hooks import NicKind

STARTER = "lxc-start"
TOOLS = {STARTER: "lxc", "setpriv": "util-linux", "unshare": "util-linux", "mount": "mount"}
"""Commands, and the packages that have them."""

LOCKS = Path("/run/lxc/lock")
"""Where LXC makes a directory for each directory of containers, with a lock a container, and leaves them."""

CGROUPS = ("container", "monitor", "monitor.pivot")
"""What LXC makes cgroups for; the last takes the monitor in when it removes the others."""

LOOK_AGAIN_S = 0.01

AGENT = "vtax-agent"
BY_LXC = Path("/proc/sysrq-trigger")
"""What `proc:mixed` has read-only itself, beside /proc/sys."""
LAY_OUT = 'while [ "$1" != -- ]; do mount --bind -o "$3" "$1" "$2" && shift 3 || exit; done; shift; exec "$@"'
"""In a mount namespace of its own: a mount for every three words, then the command."""


class Config(OwnProgramConfig, ConfinedConfig):
    """Keys of LXC containers."""

    memory_bytes: int | None = Field(None, ge=16 << 20, description="cgroup memory limit")

    @property
    def limits(self) -> list[str]:
        """The cgroup controllers that guests need."""
        return ["cpuset"] if self.memory_bytes is None else ["cpuset", "memory"]


class LxcContainer(Owned, frozen=True, tag="LXC container"):
    """What LXC leaves of a container: a cgroup when it ends, all of them when killed, and a lock."""

    name: Name

    def is_there(self) -> bool:
        """See Owned."""
        return bool(self._cgroups()) or self._lock.exists()

    def remove(self) -> None:
        """Remove its cgroups, which are busy until the last process has ended, and its lock."""
        deadline = time.monotonic() + REMOVAL_LIMIT_S
        while left := self._cgroups():
            try:
                for group in left:
                    group.rmdir()
            except FileNotFoundError:
                continue
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(LOOK_AGAIN_S)
        self._lock.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # others have theirs in it
            self._lock.parent.rmdir()

    @property
    def _lock(self) -> Path:
        return LOCKS / PLACE.lstrip("/") / f".{self.name}"

    def _cgroups(self) -> list[Path]:
        """Its cgroups of all hierarchies, those below others first."""
        everything = (Path(place) for place, _, _ in os.walk(cgroups.ROOT, topdown=False))
        return [place for place in everything if self.name in place.parts]


class Kind:
    """Platform kind `lxc`."""

    port = "bridge"
    nic: NicKind = "veth"
    own_kernel = False
    programs_of: ProgramsOf = "packages"

    def check(self, config: Config) -> None:
        """LXC must be installed, and able to apply what is asked of it."""
        require_root()
        require_agent()
        config.check_scheduling()
        if config.confined:
            check_user_namespaces()
        check_tools(TOOLS)
        check_limits(config.limits)

    def known(self, config: Config) -> Probe:
        """What LXC says."""
        own = None if config.binary is None else STARTER
        return Probe("none", {"version": told_version(config.binary or STARTER, "lxc", own=own)})

    def prepare(self, config: Config, packages: Sequence[str] | None = None) -> Probe:
        """Ask LXC for its version, and unpack programs."""
        self.check(config)
        facts = {"runtime": "lxc", **self.known(config).facts, **config.facts}
        return Probe("none", facts | fetch_userland(packages).facts)

    def check_protocols(self, config: Config, protocols: Sequence[str]) -> None:
        """The host's kernel forwards."""
        require_protocols(protocols)

    def start(self, plan: GuestPlan) -> ContainerGuest:
        """Run the agent in a container that joins a namespace with one veth pair a NIC."""
        config = plan.config
        assert isinstance(config, Config)  # noqa: S101 - resolved by this kind's own model

        def describe(namespace: Namespace, owner: Namespaces | None) -> Container:
            directory = plan.scratch / f"{plan.name}.lxc"
            userland = fetch_userland(plan.packages)
            write_container(directory, namespace, plan.own_cpus, config.memory_bytes, userland, owner)
            return Container(
                STARTER,
                # In the foreground it is the container's monitor and leaves its pipes to the agent; both die with us.
                run=[
                    *DIES_WITH_US,
                    *laid_out(directory, userland),
                    *(config.binary or STARTER, "--foreground", f"--name={namespace.name}"),
                    *(f"--lxcpath={PLACE}", f"--rcfile={PLACE}/config"),
                ],
                owned=LxcContainer(namespace.name),
            )

        return start_container(plan, describe, confined=config.confined)


def check_limits(controllers: Sequence[str]) -> None:
    """Raise PlatformUnusable for a cgroup controller that LXC would not use here: in a mixture, one of version 2."""
    mixture = cgroups.find_mixture()
    for controller in controllers:
        if mixture and controller not in mixture.controllers:
            raise PlatformUnusable(
                f"LXC cannot limit {controller} here: beside cgroups of version 1 it sets none of version 2, "
                f"and {controller} is not among those of version 1",
                "needs a boot with systemd.unified_cgroup_hierarchy=1",
            )


def laid_out(directory: Path, userland: Userland) -> list[str]:
    """What precedes LXC that is to find `directory` at PLACE, with agent and programs in the guest's root.

    The directories above these may be root's alone, and whoever mounts a guest's root is another user. Not copies in
    the root: /run, where that is, is mounted noexec on many machines.
    """
    root, kept = Path(PLACE) / "rootfs", "ro,nosuid,nodev"
    mounts = [(directory, Path(PLACE), "rw"), (agent_binary(), root / AGENT, kept)]
    mounts += [(place, root / place.name, kept) for place in userland.top if not place.is_symlink()]
    words = [word for source, target, options in mounts for word in (str(source), str(target), options)]
    own = ("unshare", "--mount", "--propagation", "slave", "--")
    return [*own, "sh", "-c", LAY_OUT, "sh", *words, "--"]


def write_container(
    directory: Path,
    namespace: Namespace,
    cpus: Sequence[int],
    memory_bytes: int | None,
    userland: Userland,
    owner: Namespaces | None,
) -> None:
    """A container (lxc.container.conf(5)) whose root holds the agent, and programs or nothing else.

    With `owner`, the user namespace that the network belongs to, it is confined as production confines it.
    """
    root = directory / "rootfs"
    places = [place.name for place in userland.top if not place.is_symlink()]
    # Whoever mounts there may make no directories: a guest's root is another user.
    for path in (directory, root, *(root / name for name in ("proc", "sys", "dev", "tmp", *places))):
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o755)
    (root / AGENT).touch()
    for place in userland.top:
        if place.is_symlink() and not (root / place.name).is_symlink():  # else the guest before left it
            (root / place.name).symlink_to(place.readlink())
    settings: dict[str, str | int | Path] = {
        "lxc.uts.name": "guest",
        "lxc.rootfs.path": f"dir:{PLACE}/rootfs",
        "lxc.init.cmd": f"/{AGENT}",
        "lxc.namespace.share.net": namespace.path,
        "lxc.mount.auto": "proc:mixed sys:ro",
        "lxc.autodev": 1,
        "lxc.console.path": "none",
        "lxc.tty.max": 0,
        "lxc.pty.max": 0,
        "lxc.cap.keep": _capabilities(programs=userland.root is not None),
        "lxc.no_new_privs": 1,
        # LXC's own profile exists only where the package apparmor has loaded it.
        "lxc.apparmor.profile": "unconfined",
        "lxc.monitor.signal.pdeath": "SIGKILL",
        # All beneath one cgroup; else they are three at the top, one of them everybody's, which stays.
        **{f"lxc.cgroup.dir.{part}": f"{namespace.name}/{part}" for part in CGROUPS},
        **_limits(cpus, memory_bytes),
    }
    mounts = [f"tmpfs tmp tmpfs {','.join(NEW_TMP)} 0 0"] if userland.root else []
    if owner is not None:
        (directory / "seccomp").write_text(system_calls_for_lxc(system_calls()))
        settings |= {
            "lxc.namespace.share.user": owner.user,
            "lxc.seccomp.profile": f"{PLACE}/seccomp",
            # Else a vtax that has a filter itself, as in a container, would have LXC pass this one over.
            "lxc.seccomp.allow_nesting": 1,
        }
        hidden = map(Path, (*MASKED_PATHS, *READ_ONLY_PATHS))
        mounts += [_masked(path) for path in hidden if path.exists() and path != BY_LXC]
    lines = [*settings.items(), *(("lxc.mount.entry", mount) for mount in mounts)]
    if owner is not None:  # although it is made already: LXC is root in there only by a mapping of its own
        lines += [("lxc.idmap", f"{kind} {owner.ids.line}".rstrip()) for kind in "ug"]
    (directory / "config").write_text("".join(f"{key} = {value}\n" for key, value in lines))


def _masked(path: Path) -> str:
    """A line as of fstab(5) that hides what this kernel has there."""
    hidden = "tmpfs {} tmpfs ro,size=0 0 0" if path.is_dir() else "/dev/null {} none bind 0 0"
    return hidden.format(str(path).lstrip("/"))


def system_calls_for_lxc(profile: SystemCalls) -> str:
    """A filter of system calls in LXC's words."""
    lines = ["2", f"allowlist errno {profile['defaultErrnoRet']}", "[all]"]
    for rule in profile["syscalls"]:
        act = "allow" if rule["action"] == "SCMP_ACT_ALLOW" else f"errno {rule['errnoRet']}"
        tests = "".join(f" {_argument_test(test)}" for test in rule.get("args", ()))
        lines += [f"{name} {act}{tests}" for name in rule["names"]]
    return "".join(f"{line}\n" for line in lines)


def _argument_test(test: ArgumentTest) -> str:
    """What an argument has to be: the value, then the mask, which the OCI has in the other order (seccomp.c of LXC)."""
    masked = "valueTwo" in test
    value, mask = (test["valueTwo"], test["value"]) if masked else (test["value"], 0)
    return f"[{test['index']},{value},{test['op']},{mask}]"


def _capabilities(*, programs: bool) -> str:
    """Those of an OCI container, in LXC's words."""
    return " ".join(name.removeprefix("CAP_").lower() for name in capabilities(programs=programs))


def _limits(cpus: Sequence[int], memory_bytes: int | None) -> dict[str, str | int]:
    """The settings of limits; LXC passes those of the other version over, and fails at one that it cannot apply."""
    alone = (cgroups.ROOT / "cgroup.controllers").exists()
    prefix, memory = ("lxc.cgroup2", "memory.max") if alone else ("lxc.cgroup", "memory.limit_in_bytes")
    limits: dict[str, str | int] = {f"{prefix}.cpuset.cpus": ",".join(map(str, cpus))}
    if memory_bytes is not None:
        limits[f"{prefix}.{memory}"] = memory_bytes
    return limits
