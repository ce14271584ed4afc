"""Imports vtax once, and forks a process for each command line that `tests/helpers/forked.py` sends.

Importing takes a second of a CPU, and system tests start vtax some hundred times. What is forked has done nothing but
import: its number, its streams, environment, signals, rights and end are its own, as of one that users type.
"""

import gc
import json
import os
import signal
import socket
import sys
from typing import NoReturn

import scipy.special  # noqa: F401 - of SciPy, what is not named is imported when it is used

import vtax.campaign
import vtax.doctor
import vtax.terminal
import vtax.testbed.remote
import vtax.views.compare.turns  # noqa: F401
from tests.helpers.kill_at import INSTANTS, arrange
from tests.helpers.paths import ROOT
from tests.helpers.tolerance import tolerate
from vtax.cli import main

MOST_BYTES = 1 << 17
"""Of a command line and its environment."""
FILES = 3
"""Where it writes its output and its errors to, and where its number and its end are told."""


def serve(asked: socket.socket) -> None:
    """Fork for each request until there will be none."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks for those that watch
    while True:
        request, files, *_ = socket.recv_fds(asked, MOST_BYTES, FILES)
        if not request:
            return
        if os.fork() == 0:
            asked.close()
            watch(request, *files)
        for file in files:
            os.close(file)


def watch(request: bytes, output: int, errors: int, told: int) -> NoReturn:
    """Fork once more: a process's end is told to its parent alone."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with socket.socket(fileno=told) as teller:
        number = os.fork()
        if number:
            os.close(output)
            os.close(errors)
            teller.send(b"%d" % number)
            teller.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]))
            os._exit(0)
    for file, standard in ((output, sys.stdout.fileno()), (errors, sys.stderr.fileno())):
        os.dup2(file, standard)
        os.close(file)
    carry_out(**json.loads(request))


def carry_out(
    arguments: list[str], environment: dict[str, str], directory: str, instant: str | None
) -> NoReturn:
    """Be vtax, as `tolerant-vtax` is; at an instant somebody is killed.

    What was imported is not taken down in the end: that takes a tenth of a second, and nothing that vtax made is in it.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment, PYTHONPATH=str(ROOT))
    os.chdir(directory)
    sys.argv = ["vtax", *arguments]
    tolerate()
    if instant is not None:
        arrange(INSTANTS[instant])
    status = main()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        gc.freeze()
        serve(channel)
    os._exit(0)
