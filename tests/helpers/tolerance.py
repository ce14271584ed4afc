"""Has no trial suffer from a slow or busy machine, for tests that are about something else.

An invalid trial is repeated, so that a campaign takes three times as long on a busy machine, and may end without what
the test looks for. `tolerant-vtax` is vtax so, as a process.
"""

import importlib
import importlib.util
import math
from collections.abc import Callable

from vtax.platforms import vhost_user
from vtax.testbed import host
from vtax.trial import interference, timeouts
from vtax.trial.endpoints import path as endpoint_path
from vtax.trial.frames import passage
from vtax.workloads.forwarding.measure import instrument

SetAttribute = Callable[[object, str, object], object]

BOUNDS = (
    (interference, "STEAL_INVALID"),
    (interference, "TAKEN_INVALID"),
    (interference, "PAUSED_INVALID"),
    (instrument, "WAIT_INVALID"),
    (instrument, "AWAY_INVALID"),
)
PATIENCE = {
    (module, name): 10 * getattr(module, name)
    for module, name in (
        (vhost_user, "READY_TIMEOUT_S"),
        (host, "GUEST_PATIENCE_S"),
        (passage, "READY_LIMIT_S"),
        (endpoint_path, "READY_LIMIT_S"),
    )
}
"""How long is waited for what comes in a moment on a fast machine."""
UML, UML_HELLO_TIMEOUT_S = "vtax.platforms.uml", 150.0
"""By its name: a platform can be taken out with its file."""


def judge_mildly(set_attribute: SetAttribute = setattr) -> None:
    """Have this process judge trials suspect at worst for what others take of the machine's CPUs."""
    for module, bound in BOUNDS:
        set_attribute(module, bound, math.inf)


def tolerate(set_attribute: SetAttribute = setattr) -> None:
    """Have this process judge so, and wait as long as slow machines take."""
    judge_mildly(set_attribute)
    for (module, limit), patience in PATIENCE.items():
        set_attribute(module, limit, patience)
    if importlib.util.find_spec(UML):
        set_attribute(importlib.import_module(UML), "HELLO_TIMEOUT_S", UML_HELLO_TIMEOUT_S)
    set_attribute(timeouts, "TIMEOUT_MS", timeouts.TIMEOUT_EMULATED_MS)
    for limit in ("QUIET_MS", "QUIET_EMULATED_MS"):
        set_attribute(timeouts, limit, timeouts.DRAIN_LIMIT_MS // 2)
