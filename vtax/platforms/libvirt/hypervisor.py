"""The libvirt that runs a domain: a daemon of this machine, or an embedded one that ends with whoever asked for it."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, TypedDict, get_args

from vtax.inputs import one_line
from vtax.machine.fix import install
from vtax.machine.namespace import Namespace
from vtax.machine.user_namespace import IdRange
from vtax.platforms.cache import cache_directory, open_shelf
from vtax.platforms.contract import PlatformUnusable
from vtax.platforms.launch import DIES_WITH_US, OWN_PROCESSES
from vtax.platforms.package import check_tools

Uri = Literal["qemu:///system", "qemu:///embed"]
"""All that libvirt may be asked by: transports and parameters of other URIs start programs, or lead elsewhere."""
DAEMON: Uri
EMBEDDED: Uri
DAEMON, EMBEDDED = get_args(Uri)
SOCKETS = (Path("/run/libvirt/virtqemud-sock"), Path("/run/libvirt/libvirt-sock"))
"""Where a daemon of this machine listens."""
KEEPER = Path(__file__).with_name("keeper.py")
PACKAGES = "libvirt-daemon python3-libvirt"
TOOLS = {
    "setpriv": "util-linux",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "mount": "mount",
    "qemu-system-x86_64": "qemu-system-x86",
}
ANSWER_LIMIT_S = 30.0
SETTINGS = r"""
user = "+{user}"
group = "+{user}"
seccomp_sandbox = 1
security_driver = "none"
stdio_handler = "file"
namespaces = [ ]
dynamic_ownership = 0
remember_owner = 0
"""
ENTER = """
[ -n "$1" ] && mount --bind "$1" "$0/root" || mount -t tmpfs vtax "$0/root" || exit
mount -t tmpfs vtax /run || exit
shift
mkdir -p "$0/root/etc" "$0/root/cache" && mount --bind "$0/capabilities" "$0/root/cache" || exit
printf %s "$1" >"$0/root/etc/qemu.conf" || exit
if [ -c /dev/kvm ]; then
    mknod -m 600 /run/kvm c "$(stat -c 0x%t /dev/kvm)" "$(stat -c 0x%T /dev/kvm)" || exit
    chown "$2:$2" /run/kvm && mount --bind /run/kvm /dev/kvm || exit
fi
shift 2
if ! getent passwd libvirt-qemu >/dev/null; then
    cp /etc/passwd /etc/group "$0/root/etc" || exit
    echo libvirt-qemu:x:64055:64055::/:/usr/sbin/nologin >>"$0/root/etc/passwd"
    echo libvirt-qemu:x:64055: >>"$0/root/etc/group"
    for file in passwd group; do mount --bind "$0/root/etc/$file" "/etc/$file" || exit; done
fi
umount -R /sys/fs/cgroup 2>/dev/null
"$@"
exit $?
"""
"""In mounts of its own: a root for libvirt, the account that Debian's wants, KVM's device for the emulator's user, and
neither /run nor cgroups, where it would leave files and find services of the machine.

The shell stays as the first process of the namespace, to collect what an emulator leaves.
"""


class Versions(TypedDict):
    """What a keeper answers: versions, as libvirt counts them."""

    hypervisor: int
    libvirt: int


@dataclass(frozen=True)
class Hypervisor:
    """A libvirt by its URI."""

    uri: str

    @property
    def embedded(self) -> bool:
        """Whether it lives within the process that asks."""
        return self.uri == EMBEDDED

    def command(
        self, *words: str, network: Namespace | None = None, scratch: Path | None = None
    ) -> list[str]:
        """What runs the keeper with `words`.

        An embedded libvirt has all it starts in a process namespace of its own, its taps in `network` (else in a
        network that ends with it) and its files in `scratch` (else in memory).
        """
        if not self.embedded:
            return [find_python(), "-I", str(KEEPER), self.uri, *words]
        home, user = open_shelf("libvirt"), emulator_user(scratch)
        for name in ("root", "capabilities"):
            open_shelf(f"libvirt/{name}")
        enter = ["nsenter", f"--net={network.path}", "--"] if network else ["unshare", "--net", "--"]
        return [
            *enter,
            *(*OWN_PROCESSES, "--mount-proc", "--"),
            *("sh", "-c", ENTER, str(home), str(scratch or ""), SETTINGS.format(user=user), str(user)),
            *(find_python(), "-I", str(KEEPER), f"{EMBEDDED}?root={home / 'root'}", *words),
        ]

    def sees(self, path: Path, scratch: Path) -> Path:
        """Where libvirt finds a file of `scratch`."""
        return cache_directory() / "libvirt/root" / path.relative_to(scratch) if self.embedded else path

    def ask(self, *words: str, domain: str = "") -> Versions:
        """What the keeper answers when it is given a `domain`; raises PlatformUnusable for a refusal or silence."""
        try:
            done = subprocess.run(
                [*DIES_WITH_US, *self.command(*words)],
                check=False,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=ANSWER_LIMIT_S,
                input=domain,
            )
        except subprocess.TimeoutExpired:
            raise PlatformUnusable(
                f"libvirt at {self.uri} did not answer within {ANSWER_LIMIT_S:g} s", self.fix
            ) from None
        return self.answer(done.stdout, done.stderr)

    def answer(self, line: str, errors: str = "") -> Versions:
        """A keeper's line; raises PlatformUnusable for an error, and where there is none."""
        try:
            told = json.loads(line)
        except ValueError:
            said = (errors.strip().splitlines() or ["it ended without a word"])[-1]
            raise PlatformUnusable(f"libvirt at {self.uri} failed: {one_line(said)}", self.fix) from None
        if "error" in told:
            raise PlatformUnusable(f"libvirt at {self.uri}: {one_line(told['error'])}", self.fix)
        answer: Versions = told
        return answer

    @property
    def fix(self) -> str:
        """The next step where it refuses."""
        if self.embedded:
            return "needs the domain changed, or what it names on this machine"
        return f"needs what libvirt asks for; virsh --connect {self.uri} version tells whether it answers"


def emulator_user(scratch: Path | None) -> int:
    """The user that the emulator of an embedded libvirt is, whose files are in `scratch`."""
    return IdRange.of(f"{scratch or KEEPER} libvirt").first


def find_hypervisor(uri: Uri | None) -> Hypervisor:
    """That of a URI; without one the daemon of this machine, or where none listens an embedded libvirt."""
    return Hypervisor(uri or (DAEMON if any(socket.exists() for socket in SOCKETS) else EMBEDDED))


def check_libvirt() -> None:
    """Raise PlatformUnusable unless libvirt's binding and what starts an emulator are there."""
    check_tools(TOOLS)
    find_python()


@cache
def find_python() -> str:
    """A Python that has libvirt's binding: our own, else the system's. Raises PlatformUnusable."""
    for python in (sys.executable, "/usr/bin/python3"):
        command = [python, "-I", "-c", "import libvirt"]
        if (
            os.access(python, os.X_OK)
            and not subprocess.run(command, check=False, capture_output=True).returncode
        ):
            return python
    raise PlatformUnusable("no Python here has libvirt's binding", install(PACKAGES))
