"""LXC containers: the host's kernel behind a second pair of interfaces, without a network of LXC's own."""

import contextlib
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from vtax.machine import cgroups
from vtax.machine.agent import agent_binary
from vtax.machine.namespace import Namespace
from vtax.machine.ownership import REMOVAL_LIMIT_S, Name, Owned, outside
from vtax.platforms.container import told_version
from vtax.platforms.contract import GuestPlan, PlatformUnusable, Probe, ProgramsOf
from vtax.platforms.egress_qdisc import GuestConfig
from vtax.platforms.launch import DIES_WITH_US
from vtax.platforms.oci import NEW_TMP, capabilities
from vtax.platforms.package import check_tools
from vtax.platforms.raw import require_agent, require_protocols, require_root
from vtax.platforms.runtime import Container, ContainerGuest, start_container
from vtax.platforms.userland import Userland, fetch_userland
from vtax.stages.hooks import NicKind

TOOLS = {"lxc-start": "lxc", "setpriv": "util-linux"}
"""Commands, and the packages that have them."""

LOCKS = Path("/run/lxc/lock")
"""Where LXC makes a directory for each directory of containers, and leaves it."""

CGROUPS = ("container", "monitor", "monitor.pivot")
"""What LXC makes cgroups for; the last takes the monitor in when it removes the others."""

LOOK_AGAIN_S = 0.01


class Config(GuestConfig):
    """Keys of LXC containers."""

    memory_bytes: int | None = Field(None, ge=16 << 20, description="cgroup memory limit")

    @property
    def limits(self) -> list[str]:
        """The cgroup controllers that guests need."""
        return ["cpuset"] if self.memory_bytes is None else ["cpuset", "memory"]


class LxcContainer(Owned, frozen=True, tag="LXC container"):
    """What LXC leaves of a container in `directory`: a cgroup when it ends, all of them when killed, and locks."""

    name: Name
    directory: str

    def problem(self, state: Path) -> str | None:
        """The directory of locks is found by its path."""
        return outside(state, self.directory)

    def is_there(self) -> bool:
        """See Owned."""
        return bool(self._cgroups()) or self._lock.exists()

    def remove(self) -> None:
        """Remove its cgroups, which are busy until the last process has ended, and its locks."""
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
        shutil.rmtree(self._lock, ignore_errors=True)
        for above in self._lock.relative_to(LOCKS).parents[:-1]:
            with contextlib.suppress(OSError):  # others have theirs in it
                (LOCKS / above).rmdir()

    @property
    def _lock(self) -> Path:
        return LOCKS / self.directory.lstrip("/")

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
        check_tools(TOOLS)
        check_limits(config.limits)

    def known(self, config: Config) -> Probe:
        """What LXC says."""
        return Probe("none", {"version": told_version("lxc-start", "lxc")})

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

        def describe(namespace: Namespace) -> Container:
            directory = plan.scratch / f"{plan.name}.lxc"
            userland = fetch_userland(plan.packages)
            write_container(directory, namespace, plan.own_cpus, config.memory_bytes, userland)
            return Container(
                "lxc-start",
                # In the foreground it is the container's monitor and leaves its pipes to the agent; both die with us.
                run=[
                    *DIES_WITH_US,
                    *("lxc-start", "--foreground", f"--name={namespace.name}"),
                    *(f"--lxcpath={directory}", f"--rcfile={directory / 'config'}"),
                ],
                owned=LxcContainer(namespace.name, str(directory)),
            )

        return start_container(plan, describe)


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


def write_container(
    directory: Path,
    namespace: Namespace,
    cpus: Sequence[int],
    memory_bytes: int | None,
    userland: Userland,
) -> None:
    """A container (lxc.container.conf(5)) whose root holds the agent, and programs or nothing else."""
    root = directory / "rootfs"
    for name in ("proc", "sys", "dev"):
        (root / name).mkdir(parents=True, exist_ok=True)
    # Not a copy in the root: /run, where that is, is mounted noexec on many machines.
    mounts = [_mount(agent_binary(), "vtax-agent", "bind,ro,create=file")]
    if userland.root:
        mounts.append(_mount(Path("tmpfs"), "tmp", ",".join([*NEW_TMP, "create=dir"]), "tmpfs"))
    for place in userland.top:
        if place.is_symlink():
            link = root / place.name
            if not link.is_symlink():  # of the guest before
                link.symlink_to(place.readlink())
        else:
            mounts.append(_mount(place, place.name, "bind,ro,nosuid,nodev,create=dir"))
    settings = {
        "lxc.uts.name": "guest",
        "lxc.rootfs.path": f"dir:{root}",
        "lxc.init.cmd": "/vtax-agent",
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
    lines = [*settings.items(), *(("lxc.mount.entry", mount) for mount in mounts)]
    (directory / "config").write_text("".join(f"{key} = {value}\n" for key, value in lines))


def _mount(source: Path, destination: str, options: str, kind: str = "none") -> str:
    """A line as of fstab(5)."""
    escaped = str(source).replace(" ", r"\040")
    return f"{escaped} {destination} {kind} {options} 0 0"


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
