"""What may go wrong while a testbed is built; anything else is a fault of vtax."""

import subprocess

from pyroute2.netlink.exceptions import NetlinkError

from vtax.machine.agent import AgentError, AgentGone
from vtax.platforms import PlatformUnusable
from vtax.trial.path import PathFailed

BUILD_FAILURES = (
    PathFailed,
    PlatformUnusable,
    AgentGone,
    AgentError,
    NetlinkError,
    OSError,
    subprocess.SubprocessError,
)
