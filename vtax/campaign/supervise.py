"""Watches what a run depends on while it lasts: where one of these ends, so does the run, instead of at its time."""

import contextlib
import threading
from collections.abc import Iterator, Sequence

from vtax.campaign.ends import End
from vtax.machine.agent import AgentError, AgentGone


@contextlib.contextmanager
def supervised(ends: Sequence[End], method: str, runner: End, patience_s: float) -> Iterator[None]:
    """Within this the call that is under way at `runner` is aborted when something at one of the `ends` has ended.

    An end's agent answers `method` when that is so, or is gone with its guest; nothing else is asked meanwhile.
    """
    over = threading.Event()
    watchers = [
        threading.Thread(
            target=_watch, args=(end, ticket, runner, patience_s, over), name=f"watch {end.agent}"
        )
        for end, ticket in _begun(ends, method)
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


def _begun(ends: Sequence[End], method: str) -> Iterator[tuple[End, str | None]]:
    """Each end with the ticket of its call; None of one that is gone already."""
    for end in ends:
        try:
            yield end, end.host.begin(end.agent, method, {})
        except AgentGone:
            yield end, None


def _watch(end: End, ticket: str | None, runner: End, patience_s: float, over: threading.Event) -> None:
    with contextlib.suppress(AgentError, AgentGone):
        if ticket is not None:
            end.host.finish(ticket, patience_s)
    if not over.is_set():
        _abort(runner)


def _abort(end: End) -> None:
    with contextlib.suppress(AgentError, AgentGone):
        end.call("abort", {})
