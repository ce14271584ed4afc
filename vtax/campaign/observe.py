"""Makes a trial with both eyes on what is around it: the host, its CPUs, its guests."""

import time
from collections.abc import Callable, Iterator

from pyroute2.netlink.exceptions import NetlinkError

from vtax.campaign.closing import closing
from vtax.campaign.ends import EndsPath
from vtax.campaign.guest import called, ending
from vtax.campaign.neighbours.base import Turn
from vtax.campaign.observed import Observed, Twice
from vtax.campaign.path import Path
from vtax.campaign.untenable import UNTENABLE, untenable
from vtax.campaign.window import SAMPLE_INSET_S, sleep_until
from vtax.machine.agent import AgentError, AgentGone
from vtax.machine.failure import in_words
from vtax.scenario.workloads import TimedKeys
from vtax.testbed.cpu_time import CpuCounters
from vtax.testbed.guest_state import GuestState


def observe(
    path: Path,
    measured: Observed,
    guests: dict[str, GuestState],
    run: Callable[[], None],
    *,
    emulated: bool,
) -> None:
    """Have `run` make the trial on a ready path whose guests stand so; it tells the neighbours when to go.

    Never raises for what agents do: that is in `failure`.
    """
    begun = time.monotonic()
    try:
        surroundings, owners = path.surroundings(), path.owners()
        with closing(path.neighbours.close):
            path.neighbours.open(Turn(measured.trial, measured.cell, emulated))
            run()
            measured.beside = path.neighbours.collect()
        measured.surroundings = (surroundings, path.surroundings())
        measured.bridge_netfilter = path.bridge_netfilter()
        later = path.owners()
        measured.owners = {
            "threads": owners["threads"] | later["threads"],
            "processes": owners["processes"] | later["processes"],
        }
        after = path.guest_states()
        measured.guests = {name: (before, after[name]) for name, before in guests.items()}
    except (AgentGone, AgentError, NetlinkError, OSError) as error:
        measured.failure = "; ".join([in_words(error), *_fallen(path, guests)])
    except UNTENABLE as error:
        measured.failure = "; ".join([untenable(error, guests), *_fallen(path, guests)])
    measured.wall_s = time.monotonic() - begun


def _fallen(path: Path, before: dict[str, GuestState]) -> Iterator[str]:
    """Which guests do not stand any more, with the telling line of their consoles."""
    for name, state in path.guest_states().items():
        if not state.answers:
            yield ending(state, before.get(name), called(name))


def begin_window(path: Path, work: TimedKeys, begin: float) -> None:
    """Have the CPUs sampled in the window of a trial that begins at a moment of the host's clock, and neighbours go."""
    path.neighbours.go(begin)
    ahead_s = begin - time.monotonic()
    path.cpu_meter.arm(ahead_s + work.warmup_s + SAMPLE_INSET_S, work.duration_s - 2 * SAMPLE_INSET_S)


def watch_cpus(
    path: EndsPath, work: TimedKeys, begin: float
) -> tuple[Twice[CpuCounters], Twice[CpuCounters]]:
    """Count CPU time of host and guests, and of the far ends' CPU, in that window; returns at its end."""
    testbed = path.testbed

    def count() -> Twice[CpuCounters]:
        return testbed.uut.counters(path.uut_cpus), testbed.source.counters([path.far_end_cpu])

    sleep_until(begin + work.warmup_s + SAMPLE_INSET_S)
    first, far_first = count()
    sleep_until(begin + work.warmup_s + work.duration_s - SAMPLE_INSET_S)
    last, far_last = count()
    return (first, last), (far_first, far_last)
