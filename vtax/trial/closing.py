"""Closing what agents opened for a trial, however that went."""

import contextlib
from collections.abc import Callable, Iterable, Iterator

from vtax.machine.agent import AgentBreach, AgentError, AgentGone


def close_all(closes: Iterable[Callable[[], object]]) -> None:
    """Close all of them. What never opened says so, and is passed over; so is what went with its agent.

    Raises AgentBreach in the end where an answer was none.
    """
    breaches: list[AgentBreach] = []
    for close in closes:
        try:
            close()
        except AgentBreach as error:
            breaches.append(error)
        except (AgentError, AgentGone):
            continue
    if breaches:
        raise breaches[0]


@contextlib.contextmanager
def closing(*closes: Callable[[], object]) -> Iterator[None]:
    """Close all of them at the end, as `close_all` does. What was raised within it comes before what closing raises."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(AgentBreach):
            close_all(closes)
        raise
    close_all(closes)
