"""`python -m vtax.testbed.emulated KEYS TAP...`: becomes the QEMU of an emulated host, with a tap of each name.

The taps are in the namespace that this is started in, and go with the machine. It runs on the CPUs that the unit under
test has, and leaves those of the agents alone.
"""

import os
import sys
from pathlib import Path

from vtax.machine.namespace import Namespace
from vtax.platforms import PlatformUnusable
from vtax.platforms.tap import open_tap, require_tap
from vtax.testbed.emulated.machine import EmulatedKeys, command
from vtax.testbed.layout import cpu_layout

MTU = 1500


def main(keys: str, names: list[str]) -> None:
    """Open the taps and replace this process by QEMU's."""
    require_tap()
    own = Namespace("vtax's own", Path("/proc/self/ns/net"))
    taps = [
        descriptor for name in names for descriptor in open_tap(own, name, MTU, headers=False, polled=True)
    ]
    layout = cpu_layout()
    os.sched_setaffinity(0, {*layout["host"], *layout["guests"]})
    words = command(EmulatedKeys.model_validate_json(keys), taps)
    for descriptor in taps:
        os.set_inheritable(descriptor, True)
    os.execvp(words[0], words)  # noqa: S606 - words are a list, no shell reads them


if __name__ == "__main__":
    try:
        main(sys.argv[1], sys.argv[2:])
    except PlatformUnusable as unusable:
        sys.exit(str(unusable))
