"""Watches what a run depends on while it lasts: where one of these ends, so does the run, instead of at its time."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence

from vtax.agent_api import AgentApi, ProgramStatus
from vtax.agent_message import Nothing, Pending
from vtax.campaign.ends import End
from vtax.machine.agent import AgentError, AgentGone

Answered = Pending[Nothing] | Pending[ProgramStatus]
Watch = Callable[[AgentApi], Answered]
"""Begins the call of an agent that is answered when something has ended there."""


@contextlib.contextmanager
def supervised(ends: Sequence[End], watch: Watch, runner: End, patience_s: float) -> Iterator[None]:
    """Within this the call that is under way at `runner` is aborted when something at one of the `ends` has ended.

    An end's agent answers `watch` when that is so, or is gone with its guest; nothing else is asked meanwhile.
    """
    over = threading.Event()
    watchers = [
        threading.Thread(target=_await, args=(answer, runner, patience_s, over), name=f"watch {end.agent}")
        for end, answer in _begun(ends, watch)
    ]
    for watcher in watchers:
        watcher.start()
    try:
        yield
    finally:
        over.set()
        for end in ends:
            _abort(end)
        for watcher in watchers:
            watcher.join()


def _begun(ends: Sequence[End], watch: Watch) -> Iterator[tuple[End, Answered | None]]:
    """Each end with what waits for its answer; None of one that is gone already."""
    for end in ends:
        try:
            yield end, watch(end.api)
        except AgentGone:
            yield end, None


def _await(answer: Answered | None, runner: End, patience_s: float, over: threading.Event) -> None:
    with contextlib.suppress(AgentError, AgentGone):
        if answer is not None:
            answer(patience_s)
    if not over.is_set():
        _abort(runner)


def _abort(end: End) -> None:
    with contextlib.suppress(AgentError, AgentGone):
        end.api.abort()
