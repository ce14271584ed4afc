"""What a process may do."""

from pathlib import Path

from vtax.machine.processes import descendants
from vtax.platforms.runtime import ContainerGuest

OF_NETWORK = 1 << 12 | 1 << 13
"""CAP_NET_ADMIN and CAP_NET_RAW, as a set."""


def status_of(pid: int) -> dict[str, str]:
    """What the kernel tells of a process (proc(5), status)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def status_of_agent(guest: ContainerGuest) -> dict[str, str]:
    """The same of a container's agent, which a runtime's processes are above."""
    (agent,) = [pid for pid in descendants(guest.agent.process.pid) if not descendants(pid)]
    return status_of(agent)


def assert_of_network_only(status: dict[str, str]) -> None:
    """It has rights over its network, can gain no others, and its system calls are filtered."""
    assert {int(status[f"Cap{kind}"], 16) for kind in ("Eff", "Prm", "Bnd")} == {OF_NETWORK}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
