"""Which CPUs serve agents, the host's packet work, and guests."""

import os


def cpu_layout(available: set[int] | None = None) -> dict[str, list[int]]:
    """The layout for the CPUs this process may use: one for agents, one for the host, the rest for guests.

    With two CPUs host and guests share the second one; with one, all share it. From four CPUs on the controller
    has one of its own, else it shares that of the agents, where it disturbs no unit under test.
    """
    cpus = sorted(os.sched_getaffinity(0) if available is None else available)
    controller = cpus[-1:] if len(cpus) >= 4 else cpus[:1]
    rest = cpus[:-1] if len(cpus) >= 4 else cpus
    agents, host, guests = rest[:1], rest[1:2] or rest[:1], rest[2:] or rest[1:2] or rest[:1]
    return {"agents": agents, "host": host, "guests": guests, "controller": controller}


def shared_core(layout: dict[str, list[int]]) -> bool:
    """Whether two roles that a trial needs share a CPU."""
    roles = [layout[role] for role in ("agents", "host", "guests")]
    return sum(map(len, roles)) > len(set().union(*roles))
