"""The programs that start guests: which version they state, and one of the user's own in place of the installed one."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from vtax.inputs import one_line
from vtax.inputs.own_file import OwnFile
from vtax.machine.fix import install
from vtax.platforms.contract import PlatformConfig, PlatformUnusable

ANSWER_LIMIT_S = 10.0
MOST_BYTES = 1 << 16
"""Of an answer, each on standard output and on standard error."""
MOST_CHARACTERS = 200
"""Of a version."""


class OwnProgramConfig(PlatformConfig):
    """Keys of guests that a program starts which may be the user's own."""

    binary: Annotated[
        str | None,
        OwnFile("started as root in place of the platform's program", states="version", executable=True),
    ] = Field(None, description="a program of your own in place of the installed one that starts guests")


def told_version(command: str, package: str, before: Sequence[str] = (), own: str | None = None) -> str:
    """The first line that `command --version` prints; raises PlatformUnusable when it prints none.

    `before` is what precedes the command to start it. Without the package `own` names what would have one.
    """
    fix = install(package) if own is None else f"needs another {own}"
    try:
        status, output, errors = ask([*before, command, "--version"])
    except (OSError, subprocess.SubprocessError) as error:
        raise PlatformUnusable(one_line(f"{command} --version: {error}"), fix) from error
    lines = output.strip().splitlines()
    if status != 0 or not lines:
        said = (errors.strip().splitlines() or ["it says nothing"])[-1]
        raise PlatformUnusable(one_line(f"{command} --version exited {status}: {said}"), fix)
    return one_line(lines[0].strip())[:MOST_CHARACTERS]


def ask(command: Sequence[str]) -> tuple[int, str, str]:
    """Run a command to its end; return its status and what it wrote to standard output and standard error.

    One that writes too much is ended there. Raises TimeoutExpired for one that takes too long, and OSError.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
    )
    assert process.stdout is not None  # noqa: S101 - they are pipes
    assert process.stderr is not None  # noqa: S101
    said = {process.stdout.fileno(): b"", process.stderr.fileno(): b""}
    deadline_s = time.monotonic() + ANSWER_LIMIT_S
    with process, selectors.DefaultSelector() as waiting:
        try:
            for descriptor in said:
                waiting.register(descriptor, selectors.EVENT_READ)
            while waiting.get_map() and max(map(len, said.values())) < MOST_BYTES:
                ready = waiting.select(max(0.0, deadline_s - time.monotonic()))
                if not ready:
                    raise subprocess.TimeoutExpired(command, ANSWER_LIMIT_S)
                for key, _ in ready:
                    piece = os.read(key.fd, MOST_BYTES)
                    said[key.fd] += piece
                    if not piece:
                        waiting.unregister(key.fd)
            if not waiting.get_map():
                process.wait(max(0.0, deadline_s - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise subprocess.TimeoutExpired(command, ANSWER_LIMIT_S) from None
        finally:
            if process.returncode is None:  # not reaped: no other group has its number
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    output, errors = (text.decode(errors="replace") for text in said.values())
    return process.returncode, output, errors
