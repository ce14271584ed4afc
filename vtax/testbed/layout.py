"""Which CPUs serve agents, the host's packet work, and guests."""

import os


def cpu_layout(available: set[int] | None = None, agents: int = 1) -> dict[str, list[int]]:
    """The layout for the CPUs this process may use: so many for `agents`, one for the host, the rest for guests.

    With two CPUs host and guests share the second one; with one, all share it. Where a CPU is left beside these three,
    the controller has it, else it shares that of the agents, where it disturbs no unit under test. Where the agents
    leave no CPU to the others, these share their last one.
    """
    cpus = sorted(os.sched_getaffinity(0) if available is None else available)
    has_room = len(cpus) >= agents + 3
    controller = cpus[-1:] if has_room else cpus[:1]
    rest = cpus[:-1] if has_room else cpus
    host = rest[agents : agents + 1] or rest[-1:]
    return {
        "agents": rest[:agents],
        "host": host,
        "guests": rest[agents + 1 :] or host,
        "controller": controller,
    }


def shared_core(layout: dict[str, list[int]]) -> bool:
    """Whether two roles that a trial needs share a CPU."""
    roles = [layout[role] for role in ("agents", "host", "guests")]
    return sum(map(len, roles)) > len(set().union(*roles))
