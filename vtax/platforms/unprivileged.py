"""An emulator, or a switch of it, as a user of its own without rights: what it needs of root's it has by descriptor."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from vtax.platforms.accelerator import DEVICE
from vtax.platforms.console import bounded

SANDBOX = ("-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny")
"""QEMU's own filter of system calls: it starts nothing, gets no rights, and leaves its threads where they are put."""
OVER_NETWORK = ("net_admin", "net_raw")
"""Capabilities that a switch needs of its network: packet sockets, taps and promiscuous mode."""
READ = ("-kernel", "-initrd")
CONSOLE, TO_FILE = "-serial", "file:"
OWN_KVM = """
mount -t tmpfs -o mode=755,size=64k none /mnt
mknod -m 600 /mnt/kvm c "$1" "$2"
chown "$0:$0" /mnt/kvm
mount --bind /mnt/kvm "$3"
shift 3
exec "$@"
"""
"""In a mount namespace of its own, the user $0 has the device $1:$2 for $3, whoever has that one elsewhere."""


def as_user(uid: int, *, kvm: bool = False, kept: Sequence[str] = ()) -> list[str]:
    """What precedes a command that is to run as `uid`, with the capabilities `kept`; with `kvm` it may use KVM."""
    user = ("--reuid", str(uid), "--regid", str(uid), "--clear-groups", "--no-new-privs")
    only = ",".join(["-all", *(f"+{capability}" for capability in kept)])
    rights = [f"--{kind}={only}" for kind in ("bounding-set", "inh-caps", "ambient-caps")]
    # Another user's death is not heard of any more: it is asked for anew.
    without_rights = ["setpriv", "--pdeathsig", "KILL", *user, *rights, "--"]
    if not kvm:
        return without_rights
    device = DEVICE.stat().st_rdev
    numbers = (str(os.major(device)), str(os.minor(device)))
    own = ("unshare", "--mount", "--propagation", "slave", "--", "sh", "-euc", OWN_KVM)
    return [*own, str(uid), *numbers, str(DEVICE), *without_rights]


@contextlib.contextmanager
def handed_over(words: Sequence[str]) -> Iterator[tuple[list[str], list[int]]]:
    """An emulator's words with descriptors in place of the files that it reads and of its console's, and these.

    The directories above them may be root's alone. They are closed again once somebody has copies.
    """
    replaced = list(words)
    descriptors: list[int] = []
    with contextlib.ExitStack() as opened:
        for at, (word, value) in enumerate(pairwise(words), 1):
            if word in READ:
                descriptors.append(os.open(value, os.O_RDONLY))
                opened.callback(os.close, descriptors[-1])
                replaced[at] = f"/proc/self/fd/{descriptors[-1]}"
            elif word == CONSOLE and value.startswith(TO_FILE):
                descriptors.append(opened.enter_context(bounded(Path(value.removeprefix(TO_FILE)))))
                # Without `append` it is cut to nothing first, which a pipe refuses.
                to_pipe = "file,id=console,path=/dev/fdset/1,append=on"
                replaced[at] = "chardev:console"
                replaced += ["-add-fd", f"fd={descriptors[-1]},set=1", "-chardev", to_pipe]
        yield replaced, descriptors
