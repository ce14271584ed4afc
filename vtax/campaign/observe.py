"""Makes a trial with both eyes on what is around it: the host, its CPUs, its guests."""

import time
from collections.abc import Callable
from typing import Any

from pyroute2.netlink.exceptions import NetlinkError

from vtax.campaign.observed import Observed, Twice
from vtax.campaign.path import Path
from vtax.campaign.window import SAMPLE_INSET_S, sleep_until
from vtax.machine.agent import AgentError, AgentGone
from vtax.scenario.workloads import WorkloadKeys


def observe(
    path: Path, measured: Observed, guests: dict[str, dict[str, Any]], run: Callable[[], None]
) -> None:
    """Have `run` make the trial on a ready path whose guests stand so.

    Never raises for what agents do: that is in `failure`.
    """
    begun = time.monotonic()
    try:
        surroundings, owners = path.surroundings(), path.owners()
        run()
        measured.surroundings = (surroundings, path.surroundings())
        measured.owners = {kind: owners[kind] | named for kind, named in path.owners().items()}
        after = path.guest_states()
        measured.guests = {name: (before, after[name]) for name, before in guests.items()}
    except (AgentGone, AgentError, NetlinkError, OSError) as error:
        measured.failure = str(error) or type(error).__name__
    measured.wall_s = time.monotonic() - begun


def arm_cpus(path: Path, work: WorkloadKeys, begin: float) -> None:
    """Have the CPUs sampled in the window of a trial that begins at a moment of the host's clock."""
    ahead_s = begin - time.monotonic()
    path.cpu_meter.arm(ahead_s + work.warmup_s + SAMPLE_INSET_S, work.duration_s - 2 * SAMPLE_INSET_S)


def watch_cpus(path: Path, work: WorkloadKeys, begin: float) -> Twice:
    """Count CPU time in that window; returns at its end."""
    sleep_until(begin + work.warmup_s + SAMPLE_INSET_S)
    first = path.testbed.uut.counters(path.uut_cpus)
    sleep_until(begin + work.warmup_s + work.duration_s - SAMPLE_INSET_S)
    return first, path.testbed.uut.counters(path.uut_cpus)
