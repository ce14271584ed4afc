"""An agent behind a guest's serial line, which its hypervisor has as a socket: a TCP port or one in the file system."""

from pathlib import Path

from vtax.machine.agent import Agent
from vtax.platforms.launch import DIES_WITH_US, launch
from vtax.platforms.package import check_tools

TOOLS = {"socat": "socat", "setpriv": "util-linux"}
WINDOW_BYTES = 3072
"""A terminal's 4096 bytes, which nobody has read yet, are all that the guest's kernel keeps."""
RETRY_S = 0.2
KEEP_ALIVE = "keepalive,keepidle=5,keepintvl=5,keepcnt=3"
"""A hypervisor that is gone without a word ends the stream within twenty seconds."""


def check_serial_line() -> None:
    """Look for what connects to one; raises PlatformUnusable."""
    check_tools(TOOLS)


def tcp_line(host: str, port: int) -> str:
    """A line at a port of another machine, in socat's words."""
    return f"TCP:{host}:{port},{KEEP_ALIVE}"


def socket_line(path: Path) -> str:
    """A line at a socket in this machine's file system, in socat's words."""
    return f"UNIX-CONNECT:{path}"


def connect(name: str, line: str, log: Path, patience_s: float) -> Agent:
    """Connect to a line that may be there a while later only; what stands in the way goes to `log`."""
    retries = f"retry={round(patience_s / RETRY_S)},interval={RETRY_S}"
    return launch(
        name, [*DIES_WITH_US, "socat", "STDIO", f"{line},{retries}"], log, window_bytes=WINDOW_BYTES
    )
