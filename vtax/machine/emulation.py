"""Whether this whole machine is emulated: every time that is told here is virtual, and all takes long."""

from functools import cache
from pathlib import Path

WORD = "vtax.emulated"
"""In the command line of the kernel of a machine that vtax emulates."""
SLOWNESS = 30
"""How many times as long what is computed there may take."""
MOST_GUESTS = 2
"""That have a kernel of their own there: an emulation of more is too slow to be of use."""


@cache
def is_emulated() -> bool:
    """Whether vtax emulates this machine."""
    return WORD in Path("/proc/cmdline").read_text().split()


def patience(limit_s: float) -> float:
    """What a limit of time for something that is computed here is on this machine."""
    return limit_s * SLOWNESS if is_emulated() else limit_s
