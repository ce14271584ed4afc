"""What a process may do."""

from pathlib import Path

OF_NETWORK = 1 << 12 | 1 << 13
"""CAP_NET_ADMIN and CAP_NET_RAW, as a set."""


def status_of(pid: int) -> dict[str, str]:
    """What the kernel tells of a process (proc(5), status)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
