"""Which CPUs serve agents, the host's packet work, and guests."""

import os


def cpu_layout(available: set[int] | None = None) -> dict[str, list[int]]:
    """The layout for the CPUs this process may use: one for agents, one for the host, the rest for guests.

    With two CPUs host and guests share the second one; with one, all share it.
    """
    cpus = sorted(os.sched_getaffinity(0) if available is None else available)
    agents, host, guests = cpus[:1], cpus[1:2] or cpus[:1], cpus[2:] or cpus[1:2] or cpus[:1]
    return {"agents": agents, "host": host, "guests": guests}


def shared_core(layout: dict[str, list[int]]) -> bool:
    """Whether two roles share a CPU."""
    together = set().union(*layout.values())
    return sum(map(len, layout.values())) > len(together)
