"""Measures what is left of a result that a testbed's controller has begun.

    python -m vtax.cluster.block RESULT [--allow A,B] [--testbed FILE]

Exits as `vtax run` does. It ends, and takes everything down, when its standard input ends.
"""

import argparse
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import NoReturn

from vtax import campaign
from vtax.campaign import Resumed
from vtax.inputs import InputError
from vtax.inputs.needs import read_kinds
from vtax.inputs.own_file import ChangedFileError
from vtax.machine.lock import HostLock
from vtax.output import visible_output
from vtax.testbed.remote import SeveralMachines, read_testbed

BROKE, BAD_INPUT = 1, 2


class Notes:
    """Tells only what a user should know."""

    def campaign(self, name: str, trials: int | None, directory: Path) -> None:
        """Nothing of the beginning."""

    def note(self, text: str) -> None:
        """Something a user should know."""
        print(text, file=sys.stderr, flush=True)

    def standing(self, text: str) -> None:
        """Nothing of how far it is."""

    def trial_started(self, number: int, cell_key: str) -> None:
        """Nothing of a trial."""

    def trial_finished(self, number: int, verdict: str, headline: str) -> None:
        """Nothing of its end."""

    def finished(self) -> None:
        """Nothing of the end."""


def main(directory: Path, allow: list[str], testbed: Path | None) -> int:
    """Wait until nobody else measures on this host, and measure.

    The result is in the hands of whoever began it, and of this user: it was named by who may start campaigns here.
    """
    _end_with_stdin()
    os.umask(os.umask(0) | 0o022)  # what others could write to is not gone on with
    try:
        resumed = Resumed.read(directory, {os.geteuid(), directory.stat().st_uid})
        HostLock().wait()
        machines = None if testbed is None else SeveralMachines(read_testbed(testbed))
        outcome = campaign.run(
            resumed.scenario,
            resume=resumed,
            allow=read_kinds(allow),
            machines=machines,
            progress=Notes(),
        )
        return outcome.exit_status
    except ChangedFileError as error:
        print(error, file=sys.stderr)
        return BROKE
    except InputError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    finally:
        _hand_over(directory)


def _hand_over(directory: Path) -> None:
    """Give what was made to whoever began the result: a controller without rights has to remove it one day."""
    owner = directory.stat()
    if owner.st_uid == os.geteuid():
        return
    for _, directories, files, place in os.fwalk(directory, follow_symlinks=False):
        for name in (*directories, *files):
            os.chown(name, owner.st_uid, owner.st_gid, dir_fd=place, follow_symlinks=False)


def _leave(act: Callable[[], int]) -> NoReturn:
    """Act, and end with its status, or 1 where it raises something.

    Nothing is said after that: the last words are the reason that a controller tells, and at the end of an interpreter
    libraries say what they have not freed.
    """
    try:
        status = act()
    except Exception:
        traceback.print_exc()
        status = BROKE
    sys.stderr.flush()
    os._exit(status)


def _end_with_stdin() -> None:
    """Interrupt this process, which then cleans up, when nobody holds the other end any more."""
    lifeline = os.dup(0)  # what is started here shall not have it
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)

    def watch() -> None:
        while os.read(lifeline, 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    options = argparse.ArgumentParser(prog="vtax.cluster.block")
    options.add_argument("directory", type=Path)
    options.add_argument("--allow", action="append", default=[])
    options.add_argument("--testbed", type=Path)
    with visible_output():
        _leave(lambda: main(**vars(options.parse_args())))
