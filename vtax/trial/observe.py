"""Makes a trial with both eyes on what is around it: the host, its CPUs, its guests."""

import time
from collections.abc import Callable, Iterator, Mapping

from pyroute2.netlink.exceptions import NetlinkError

from vtax.machine.agent import AgentError, AgentGone
from vtax.machine.failure import in_words
from vtax.testbed.guest_state import GuestState
from vtax.trial.beside import Turn
from vtax.trial.closing import closing
from vtax.trial.guest import called, ending
from vtax.trial.observed import Observed
from vtax.trial.path import Path
from vtax.trial.untenable import UNTENABLE, untenable


def observe(
    path: Path, observed: Observed, guests: Mapping[str, GuestState], run: Callable[[], None]
) -> None:
    """Have `run` make the trial on a ready path whose guests stand so; it tells the neighbours when to go.

    Never raises for what agents do: that is in `failure`.
    """
    begun = time.monotonic()
    try:
        speeds, before, owners = path.canary.read(), path.surroundings(), path.owners()
        with closing(path.neighbours.close):
            path.neighbours.open(Turn(observed.trial, observed.cell, observed.emulated))
            run()
            observed.beside = path.neighbours.collect()
        observed.interference = (before, path.surroundings())
        observed.beside_uut = frozenset(host.name for host in path.beside_uut)
        observed.bridge_netfilter = path.bridge_netfilter()
        later = path.owners()
        observed.owners = {
            "threads": owners["threads"] | later["threads"],
            "processes": owners["processes"] | later["processes"],
        }
        after = path.guest_states()
        observed.guests = {name: (stood, after[name]) for name, stood in guests.items()}
        observed.canary = (speeds, path.canary.read())
    except (AgentGone, AgentError, NetlinkError, OSError) as error:
        observed.failure = "; ".join([in_words(error), *_fallen(path, guests)])
    except UNTENABLE as error:
        observed.failure = "; ".join([untenable(error, guests), *_fallen(path, guests)])
    observed.wall_s = time.monotonic() - begun


def _fallen(path: Path, before: Mapping[str, GuestState]) -> Iterator[str]:
    """Which guests do not stand any more, with the telling line of their consoles."""
    for name, state in path.guest_states().items():
        if not state.answers:
            yield ending(state, before.get(name), called(name))
