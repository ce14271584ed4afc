"""An emulator as a user of its own without rights: what it needs of root's it has by descriptor."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from vtax.platforms.accelerator import DEVICE

SANDBOX = ("-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny")
"""QEMU's own filter of system calls: it starts nothing, gets no rights, and leaves its threads where they are put."""
READ = ("-kernel", "-initrd")
WRITTEN = "-serial"
OWN_KVM = """
mount -t tmpfs -o mode=755,size=64k none /mnt
mknod -m 600 /mnt/kvm c "$1" "$2"
chown "$0:$0" /mnt/kvm
mount --bind /mnt/kvm "$3"
shift 3
exec "$@"
"""
"""In a mount namespace of its own, the user $0 has the device $1:$2 for $3, whoever has that one elsewhere."""


def as_user(uid: int, *, kvm: bool) -> list[str]:
    """What precedes an emulator that is to run as `uid`, and with `kvm` may use KVM."""
    user = ("--reuid", str(uid), "--regid", str(uid), "--clear-groups")
    none = ("--bounding-set=-all", "--inh-caps=-all", "--no-new-privs")
    # Another user's death is not heard of any more: it is asked for anew.
    without_rights = ["setpriv", "--pdeathsig", "KILL", *user, *none, "--"]
    if not kvm:
        return without_rights
    device = DEVICE.stat().st_rdev
    numbers = (str(os.major(device)), str(os.minor(device)))
    own = ("unshare", "--mount", "--propagation", "slave", "--", "sh", "-euc", OWN_KVM)
    return [*own, str(uid), *numbers, str(DEVICE), *without_rights]


@contextlib.contextmanager
def handed_over(words: Sequence[str], uid: int) -> Iterator[tuple[list[str], list[int]]]:
    """An emulator's words with descriptors in place of the files that it reads and writes, and these descriptors.

    The directories above them may be root's alone. They are closed again once somebody has copies.
    """
    replaced = list(words)
    with contextlib.ExitStack() as opened:

        def hand(path: str, flags: int) -> int:
            descriptor = os.open(path, flags, 0o600)
            opened.callback(os.close, descriptor)
            return descriptor

        descriptors = []
        for at, word in enumerate(words[:-1], 1):
            prefix, path = "", words[at]
            if word in READ:
                descriptor = hand(path, os.O_RDONLY)
            elif word == WRITTEN:
                prefix, _, path = path.rpartition(":")
                descriptor = hand(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                if path != os.devnull:
                    os.fchown(descriptor, uid, uid)
            else:
                continue
            descriptors.append(descriptor)
            replaced[at] = f"{prefix}{':' if prefix else ''}{Path('/proc/self/fd') / str(descriptor)}"
        yield replaced, descriptors
