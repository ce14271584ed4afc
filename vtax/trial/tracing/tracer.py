"""A traced trial: packets are followed past the hosts in its window, by an agent of the kernel that they all share."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from vtax.agent_api import Follow
from vtax.keys.traced import TracedKeys
from vtax.stages import Event, Reading, StageMeter
from vtax.testbed.host import Host
from vtax.trial.closing import closing
from vtax.trial.tracing.path import TracePath


@dataclass(frozen=True)
class Traced:
    """What a traced trial found out."""

    paths: Sequence[TracePath]
    reading: Reading
    events: Sequence[Event]


class Tracer:
    """Follows the packets of one trial; of a trial that is not traced, nothing."""

    def __init__(self, meter: StageMeter | None = None, paths: Sequence[TracePath] = ()) -> None:
        self._meter, self._paths = meter, paths

    def arm(self, delay_s: float, duration_s: float) -> None:
        """Follow the packets that come in a window which begins so much later."""
        if self._meter is not None:
            self._meter.arm(delay_s, duration_s)

    def read(self) -> Traced | None:
        """What was followed; None where nothing is."""
        if self._meter is None:
            return None
        return Traced(self._paths, self._meter.read(), self._meter.events())


@contextlib.contextmanager
def tracing(
    host: Host, agent: str, work: TracedKeys, find_paths: Callable[[], Sequence[TracePath]], follow: Follow
) -> Iterator[Tracer]:
    """Have an agent follow packets along the paths there are, where the trial is to be traced.

    Raises AgentError, AgentGone.
    """
    if not work.is_traced:
        yield Tracer()
        return
    paths = find_paths()
    meter = StageMeter(host.api(agent))
    trails = [path.trail for path in paths]
    meter.open(trails, every=work.trace_every, follow=follow, packets=work.trace_packets)
    with closing(meter.close):
        yield Tracer(meter, paths)
