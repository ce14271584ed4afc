"""Has what others take of the machine's CPUs make no trial invalid, for tests that are about something else.

An invalid trial is repeated, so that a campaign takes three times as long on a busy machine, and may end without what
the test looks for. `tolerant-vtax` is vtax so, as a process.
"""

import math
from collections.abc import Callable

from vtax.trial import interference
from vtax.workloads.forwarding.measure import instrument

BOUNDS = (
    (interference, "STEAL_INVALID"),
    (interference, "TAKEN_INVALID"),
    (interference, "PAUSED_INVALID"),
    (instrument, "WAIT_INVALID"),
)


def tolerate(set_attribute: Callable[[object, str, object], object] = setattr) -> None:
    """Have this process judge such trials suspect at worst."""
    for module, bound in BOUNDS:
        set_attribute(module, bound, math.inf)
