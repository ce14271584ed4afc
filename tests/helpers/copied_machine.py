"""A copy of this machine's files, of which only the differences are kept, and they go with the test."""

import subprocess
from pathlib import Path

from tests.helpers.paths import ROOT

# A mount namespace of its own; / is seen through an overlay, /run is fresh: no state of this machine is shared.
# No index of manuals is made: each installation would take seconds longer.
ENTER = """
mount -t tmpfs tmpfs "$0" && cd "$0" && mkdir upper work root
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
for part in proc sys dev; do mount --rbind /$part root/$part; done
mount -t tmpfs tmpfs root/run && mkdir -p "root$1" && mount --bind "$1" "root$1"
rm -f root/var/lib/man-db/auto-update
exec chroot root sh
"""


class Machine:
    """A shell in the copy; commands go in one after the other."""

    def __init__(self, scratch: Path) -> None:
        command = [
            "unshare",
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-ec",
            ENTER,
            str(scratch),
            str(ROOT),
        ]
        self._shell = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def run(self, command: str) -> tuple[int, str]:
        """Exit status and output of a command line, as if it was pasted."""
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.write(f"{command} </dev/null\nprintf '\\nEND %d\\n' $?\n")
        self._shell.stdin.flush()
        lines: list[str] = []
        for line in self._shell.stdout:
            if line.startswith("END "):
                return int(line.split()[1]), "".join(lines)
            lines.append(line)
        raise AssertionError("".join(lines))

    def close(self) -> None:
        """Ends the shell, and with it all mounts."""
        self._shell.communicate()
