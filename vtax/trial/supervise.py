"""Watches what a run depends on while it lasts: where one of these ends, so does the run, instead of at its time."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence

from vtax.agent_api import AgentApi, ProgramStatus
from vtax.agent_message import Nothing, Pending
from vtax.machine.agent import AgentBreach, AgentError, AgentGone
from vtax.trial.closing import closing
from vtax.trial.endpoints.path import End

Answered = Pending[Nothing] | Pending[ProgramStatus]
Watch = Callable[[AgentApi], Answered]
"""Begins the call of an agent that is answered when something has ended there."""


@contextlib.contextmanager
def supervised(ends: Sequence[End], watch: Watch, runner: End, patience_s: float) -> Iterator[None]:
    """Within this the call that is under way at `runner` is aborted when something at one of the `ends` has ended.

    An end's agent answers `watch` when that is so, or is gone with its guest; nothing else is asked meanwhile.
    Raises AgentBreach where what it answers is none.
    """
    over, breaches = threading.Event(), list[AgentBreach]()
    watchers = [
        threading.Thread(
            target=_await, args=(answer, runner, patience_s, over, breaches), name=f"watch {end.agent}"
        )
        for end, answer in _begun(ends, watch)
    ]
    for watcher in watchers:
        watcher.start()
    try:
        with _joined(watchers), closing(over.set, *(end.api.abort for end in ends)):
            yield
    except AgentError:
        if not breaches:
            raise
    if breaches:  # they are why the run was aborted, if it was
        raise breaches[0] from None


def _begun(ends: Sequence[End], watch: Watch) -> Iterator[tuple[End, Answered | None]]:
    """Each end with what waits for its answer; None of one that is gone already."""
    for end in ends:
        try:
            yield end, watch(end.api)
        except AgentGone:
            yield end, None


def _await(
    answer: Answered | None,
    runner: End,
    patience_s: float,
    over: threading.Event,
    breaches: list[AgentBreach],
) -> None:
    with _collecting(breaches):
        if answer is not None:
            answer(patience_s)
    with _collecting(breaches):
        if not over.is_set():
            runner.api.abort()


@contextlib.contextmanager
def _collecting(breaches: list[AgentBreach]) -> Iterator[None]:
    """Pass over what an agent refuses and one that is gone; an answer that is none is kept."""
    try:
        yield
    except AgentBreach as error:
        breaches.append(error)
    except (AgentError, AgentGone):
        return


@contextlib.contextmanager
def _joined(watchers: Sequence[threading.Thread]) -> Iterator[None]:
    try:
        yield
    finally:
        for watcher in watchers:
            watcher.join()
