"""`vtax host`: this machine serves a vtax elsewhere."""

import os
import signal
import threading
from typing import TYPE_CHECKING, Annotated

import typer

from vtax.inputs import InputError

if TYPE_CHECKING:
    from vtax.testbed.remote.server import Server


PATIENCE_S = 20.0
"""The one before, whose stream broke, may still be cleaning up."""


def host(
    stdio: Annotated[
        bool, typer.Option("--stdio", help="Read requests from stdin and write answers to stdout.")
    ] = False,
) -> None:
    """Serve this machine to a vtax elsewhere, which starts this over SSH; cleans up when its stream ends."""
    from vtax.testbed.host_session import hold_host
    from vtax.testbed.remote.server import Server

    if not stdio:
        raise InputError("vtax host: how is it asked? allowed: --stdio; vtax run --testbed FILE starts it so")
    if os.geteuid() != 0:
        raise InputError("vtax host needs root: it creates namespaces, links and BPF programs")
    # What anything else prints must not get among the answers.
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with hold_host("vtax host", PATIENCE_S) as record:
        server = Server(record, answers)
        threading.Thread(target=_end_in_silence, args=(server,), daemon=True).start()
        server.serve(questions)


def _end_in_silence(server: "Server") -> None:
    """A stream may stay open when nobody is at its far end any more."""
    server.await_silence()
    os.kill(os.getpid(), signal.SIGTERM)
