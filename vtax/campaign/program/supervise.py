"""Watches a server while its client runs: where the server dies, the run ends at once instead of at its time."""

import contextlib
import threading
from collections.abc import Iterator

from vtax.campaign.ends import End
from vtax.machine.agent import AgentError, AgentGone


@contextlib.contextmanager
def supervised(server: End, client: End, patience_s: float) -> Iterator[None]:
    """Within this the client's run, which has begun, is aborted when the server ends, by itself or with its guest.

    Nothing is asked meanwhile: the server's agent answers when there is something to tell. Leave it with the server
    closed.
    """
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(server, client, patience_s, over), name="supervisor")
    watcher.start()
    try:
        yield
    finally:
        over.set()
        with contextlib.suppress(AgentError, AgentGone):
            server.call("server.close", {})
        watcher.join()


def _watch(server: End, client: End, patience_s: float, over: threading.Event) -> None:
    with contextlib.suppress(AgentError, AgentGone):
        server.call("server.watch", {}, patience_s)
    if not over.is_set():
        with contextlib.suppress(AgentError, AgentGone):
            client.call("abort", {})
