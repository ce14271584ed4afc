"""vtax as a process that is forked where it has been imported already (`tests/helpers/fork_server.py`)."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from threading import Thread

from tests.helpers.paths import ROOT


class Forked:
    """A command of vtax that runs, to be asked like a `subprocess.Popen` whose `stderr` is read.

    At an `instant` of `tests/helpers/kill_at.py` somebody is killed in it.
    """

    def __init__(
        self, arguments: list[str], env: Mapping[str, str] | None = None, *, instant: str | None = None
    ) -> None:
        self.args = ["vtax", *arguments]
        self.returncode: int | None = None
        self._output = os.memfd_create("output")
        read, write = os.pipe()
        self.stderr = os.fdopen(read)
        self._told, teller = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = dict(os.environ if env is None else env)
        request = {
            "arguments": arguments,
            "environment": environment,
            "directory": str(Path.cwd()),
            "instant": instant,
        }
        files = [self._output, write, teller.fileno()]
        socket.send_fds(_server(), [json.dumps(request).encode()], files)
        os.close(write)
        teller.close()
        self.pid = int(self._told.recv(32))

    def wait(self, timeout: float | None = None) -> int:
        """Return its exit status, or minus the signal that ended it; TimeoutExpired where it goes on."""
        if self.returncode is None:
            self._told.settimeout(timeout)
            try:
                self.returncode = int(self._told.recv(32))
            except TimeoutError:
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0) from None
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Return its output and the errors that nobody has read, once it has ended."""
        rest: list[str] = []
        reader = Thread(target=lambda: rest.append(self.stderr.read()), daemon=True)
        reader.start()
        reader.join(timeout)
        if reader.is_alive():
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        self.wait(timeout)
        os.lseek(self._output, 0, os.SEEK_SET)
        with self.stderr, self._told, os.fdopen(self._output) as output:
            return output.read(), rest[0]

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it runs."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """End it."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


def ended(process: "Forked | subprocess.Popen[str]", timeout: float) -> "subprocess.CompletedProcess[str]":
    """Return what a command has come to; one that takes longer is killed before TimeoutExpired is raised."""
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


@cache
def _server() -> socket.socket:
    """Where commands are asked for; the server ends with this process."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", "tests.helpers.fork_server", str(its.fileno())]
    silent = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    with its:
        subprocess.Popen(command, cwd=ROOT, pass_fds=[its.fileno()], **silent)
    return ours
