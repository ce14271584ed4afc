"""Open vSwitch as a program of one host: its database and its switch, in the host's namespace.

Nothing of an installed Open vSwitch's service is used or touched: the database is vtax's own. Its programs and tools
are a user of their own, to whom database and sockets belong; the switch has rights over its host's network alone. Where
the kernel has the module it forwards; elsewhere the switch does, by packet sockets.
"""

import os
import re
import shutil
import stat
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from vtax.machine.cpu import threads_of
from vtax.machine.fix import install
from vtax.machine.namespace import Namespace
from vtax.machine.pidfd import process_start, stop_process
from vtax.machine.state import make_directory
from vtax.machine.user_namespace import IdRange
from vtax.platforms import PlatformUnusable
from vtax.platforms.console import bounded, tail
from vtax.platforms.launch import DIES_WITH_US
from vtax.platforms.package import check_tools
from vtax.platforms.raw import can_load
from vtax.platforms.tap import DEVICE, require_tap
from vtax.platforms.unprivileged import OVER_NETWORK, as_user
from vtax.testbed.ports.port import Surroundings

SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
MODULE = Path("/sys/module/openvswitch")
PROGRAMS = ("ovsdb-server", "ovs-vswitchd")
TOOLS = dict.fromkeys(PROGRAMS, "openvswitch-switch")
TOOLS |= dict.fromkeys(("ovsdb-tool", "ovs-vsctl", "ovs-ofctl"), "openvswitch-switch")
TOOLS |= {"setpriv": "util-linux", "nsenter": "util-linux", "taskset": "util-linux", "ss": "iproute2"}
"""Commands, and the packages that have them."""
SOCKET = "db.sock"
PATIENCE_S = 10
QUIET = ("--no-chdir", "-vconsole:info", "-vsyslog:off")
LOGGED = 5
"""Lines of a program's complaints that an error tells."""
PACKET_SOCKET = re.compile(r"^p_raw .*:(\S+)\s+\*\s.*skmem:\(.*,d(\d+)\)", re.MULTILINE)
"""A line of `ss` for one: the interface, and how many frames it had no room for."""


class OpenVSwitch:
    """A running switch; `service` of a host (vtax.testbed.ports.Surroundings)."""

    def __init__(self, namespace: Namespace, host: Surroundings) -> None:
        self._namespace, self._host = namespace, host
        self._directory = host.record.scratch / f"{namespace.name}.ovs"
        self._user = IdRange.of(f"{namespace.name} ovs").first
        make_directory(self._directory, self._user)
        self._programs: dict[str, subprocess.Popen[bytes]] = {}
        database = self._directory / "conf.db"
        try:
            self._tool("ovsdb-tool", "create", str(database), str(SCHEMA))
            self._start("ovsdb-server", str(database), f"--remote=p{self._database}")
            self._await_database()
            self.configure("--retry", "--no-wait", "init")
            only_userspace = ["--disable-system"] if datapath() == "netdev" else []
            self._start("ovs-vswitchd", self._database, *only_userspace, rights=OVER_NETWORK)
        except BaseException:
            self.close()
            raise

    @property
    def _database(self) -> str:
        return f"unix:{self._directory / SOCKET}"

    def configure(self, *words: str) -> None:
        """Have ovs-vsctl change the configuration, and wait until the switch has done as it says; raises OSError."""
        self._tool("ovs-vsctl", f"--timeout={PATIENCE_S}", f"--db={self._database}", *words)

    def add_flow(self, bridge: str, flow: str) -> None:
        """Give a bridge an OpenFlow rule; raises OSError."""
        socket = self._directory / f"{bridge}.mgmt"
        self._tool("ovs-ofctl", f"--timeout={PATIENCE_S}", "add-flow", str(socket), flow)

    def dropped(self) -> dict[str, int]:
        """Frames that its packet sockets had no room for, by interface; none where the kernel's module forwards."""
        sockets = ["ss", "--packet", "--memory", "--oneline", "--no-header"]
        told = self._told("ss", ["nsenter", f"--net={self._namespace.path}", "--", *sockets])
        return {interface: int(count) for interface, count in PACKET_SOCKET.findall(told)}

    @property
    def runs(self) -> bool:
        """Whether its programs have not ended."""
        return all(process.poll() is None for process in self._programs.values())

    def threads(self) -> dict[int, tuple[int, str]]:
        """Those of both programs."""
        pids = [process.pid for process in self._programs.values()]
        return {tid: (pid, "ovs") for pid in pids for tid in threads_of(pid)}

    def close(self) -> None:
        """End it, the switch before its database, and remove its directory."""
        while self._programs:
            _, process = self._programs.popitem()
            stop_process(process.pid, process_start(process.pid))
            process.wait()
        shutil.rmtree(self._directory, ignore_errors=True)
        for program in PROGRAMS:
            self._log(program).unlink(missing_ok=True)

    def _await_database(self) -> None:
        """Wait for its socket: whoever finds none tries again after a second only."""
        socket, deadline = self._directory / SOCKET, time.monotonic() + PATIENCE_S
        while self.runs and not socket.exists() and time.monotonic() < deadline:
            time.sleep(0.005)

    def _start(self, program: str, *arguments: str, rights: Sequence[str] = ()) -> None:
        command = [
            *DIES_WITH_US,
            *("nsenter", f"--net={self._namespace.path}", "--"),
            *("taskset", "--cpu-list", ",".join(map(str, self._host.cpus))),
            *as_user(self._user, kept=rights),
            *(program, *arguments, *QUIET, f"--unixctl={self._directory / program}.ctl"),
        ]
        with bounded(self._log(program)) as complaints:
            process = self._programs[program] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                process_group=0,
                env=self._environment,
            )
        self._host.record.add_process(process.pid, program)

    @property
    def _environment(self) -> dict[str, str]:
        places = dict.fromkeys(("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"), str(self._directory))
        return {"PATH": os.environ["PATH"], **places}

    def _log(self, program: str) -> Path:
        """What a program complains of: not in its user's directory, where that one could have a link read."""
        return self._host.record.scratch / f"{self._namespace.name}.{program}.log"

    def _tool(self, *command: str) -> None:
        """Have one of Open vSwitch's commands run with as few rights as the database."""
        self._told(command[0], [*as_user(self._user), *command])

    def _told(self, tool: str, command: Sequence[str]) -> str:
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE_S,
            env=self._environment,
        )
        if done.returncode != 0:
            said = done.stderr.strip().splitlines() or [f"exited {done.returncode}"]
            raise OSError("; ".join([*self._ended(), f"{tool}: {said[-1]}"]) + self._last_words())
        return done.stdout

    def _ended(self) -> list[str]:
        """The programs that run no more."""
        codes = {program: process.poll() for program, process in self._programs.items()}
        return [f"{program} exited {code}" for program, code in codes.items() if code is not None]

    def _last_words(self) -> str:
        """What the programs complained of last, on lines of its own."""
        words = (tail(self._log(program), LOGGED) for program in PROGRAMS)
        return "".join(f"\n{said}" for said in words if said)


def find_open_vswitch() -> str:
    """The version that is installed; raises PlatformUnusable where a part of it is missing."""
    check_tools(TOOLS)
    if not SCHEMA.is_file():
        raise PlatformUnusable(
            f"Open vSwitch's database has no schema {SCHEMA}", install("openvswitch-switch")
        )
    if datapath() == "netdev":  # whose bridges have taps for interfaces
        require_tap()
        if not DEVICE.stat().st_mode & stat.S_IWOTH:
            raise PlatformUnusable(
                f"{DEVICE} is closed to users other than root, as whom Open vSwitch forwards here",
                f"chmod 666 {DEVICE}",
            )
    done = subprocess.run(
        ["ovs-vswitchd", "--version"], check=False, capture_output=True, text=True, timeout=PATIENCE_S
    )
    words: Sequence[str] = done.stdout.splitlines()[0].split() if done.stdout else ()
    if not words:
        raise PlatformUnusable("ovs-vswitchd does not tell its version", install("openvswitch-switch"))
    return words[-1]


def datapath() -> str:
    """Who forwards: the kernel's module (`system`), or the switch itself in user space (`netdev`)."""
    return "system" if MODULE.exists() or can_load("openvswitch") else "netdev"
