"""The hook tables: where the kernel shows a frame that comes from an interface, or goes to one.

They map the components of oljira2016, Table II, to a Linux host; docs/stages.md has both side by side. The names are
those of the agent's `stages.open`.
"""

from dataclasses import dataclass
from typing import Final, Literal

from vtax.agent_api import Hook as HookName

NicKind = Literal["tap", "vhost", "veth", "wire", "nic", "bridge"]
"""What an interface is: a guest's tap, one that a kernel thread serves (vhost), or a veth pair; a link of two hosts
made of a veth pair; a physical NIC; a bridge, by which the host itself takes part."""

BACKEND, SWITCH, KERNEL, DRIVER = "backend", "switch", "kernel", "driver"
"""Stages of the paper; its vSwitch is the switch here."""
WAKE_UP = "wake-up"
"""The first part of the paper's Rx backend: a frame in the tap's ring, until its reader begins to copy it."""
SOURCE, LINK, STACK, GUEST, SINK = "source", "link", "stack", "guest", "sink"
"""Beside them: from when a test frame was due until it leaves for the host's link, from one host to the next, where the
host itself forwards, inside a guest, at a program's end."""

DUE: Final = "due"
WRITE: Final = "write"
ARRIVE: Final = "arrive"
RECEIVE: Final = "receive"
QUEUE: Final = "queue"
TRANSMIT: Final = "transmit"
COPY: Final = "copy"
FREE: Final = "free"
DROP: Final = "drop"


@dataclass(frozen=True)
class Hook:
    """A hook at an interface, or at the far end of its veth pair; `stage` ends with it, and is None of the first."""

    name: HookName
    stage: str | None = None
    far: bool = False


ARRIVING: Final[dict[NicKind, tuple[Hook, ...]]] = {
    "tap": (Hook(WRITE), Hook(RECEIVE, BACKEND)),
    "vhost": (Hook(RECEIVE),),
    "veth": (Hook(TRANSMIT, far=True), Hook(RECEIVE, BACKEND)),
    "wire": (Hook(ARRIVE), Hook(RECEIVE, DRIVER)),
    "nic": (Hook(ARRIVE), Hook(RECEIVE, DRIVER)),
    "bridge": (Hook(QUEUE), Hook(TRANSMIT, KERNEL)),
}
"""What sees a frame that an interface brings."""

LEAVING: Final[dict[NicKind, tuple[Hook, ...]]] = {
    "tap": (Hook(QUEUE), Hook(TRANSMIT, KERNEL), Hook(COPY, WAKE_UP), Hook(FREE, BACKEND)),
    "vhost": (Hook(QUEUE), Hook(TRANSMIT, KERNEL), Hook(COPY, WAKE_UP), Hook(FREE, BACKEND)),
    "veth": (Hook(QUEUE), Hook(TRANSMIT, KERNEL), Hook(RECEIVE, BACKEND, far=True)),
    "wire": (Hook(QUEUE), Hook(TRANSMIT, KERNEL), Hook(ARRIVE, DRIVER, far=True)),
    "nic": (Hook(QUEUE), Hook(TRANSMIT, KERNEL), Hook(FREE, DRIVER)),
    "bridge": (Hook(RECEIVE),),
}
"""What sees a frame that goes to an interface. A NIC's is freed when it has been sent."""

SUNK: Final = (Hook(QUEUE), Hook(TRANSMIT, KERNEL), Hook(DROP, SINK, far=True))
"""The same where a program at the link's other end counts frames and lets go of them."""
