"""Commands of more than a few lines, a module each; the command line registers them."""

import errno
import gc
import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import Annotated, ParamSpec, TypeVar

import typer

from vtax.inputs import InputError

ResultPath = Annotated[Path, typer.Argument(metavar="RESULT", help="Directory of a result, results/...")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")]

BROKE = 1
"""Exit status where vtax itself, or the machine below, failed."""

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
"""What a disk that is full, or mounted to be read only, answers."""

Given = ParamSpec("Given")
Found = TypeVar("Found")
Write = Callable[[Iterable[bytes]], None]


NONSENSE = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""What views raise where values contradict each other, or are none that vtax writes."""


class InterruptedCampaignError(Exception):
    """Ctrl-C ended a campaign; `str()` says what is kept of it."""


def _refusal(error: Exception, given: Sequence[object]) -> str:
    """Say which results cannot be shown, and where that was found."""
    results = ", ".join(str(place) for place in given if isinstance(place, Path) and place.is_dir())
    frame = traceback.extract_tb(error.__traceback__)[-1]
    what = f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}: {str(error).partition(chr(10))[0]}"
    return (
        f"{results}: cannot be shown ({what}); it holds what no vtax writes, or vtax has a defect: VTAX_DEBUG=1 in the "
        "environment shows the traceback"
    )


def check_parent(directory: Path) -> None:
    """Raise InputError where there is nothing to make `directory` in: a mistyped path is not made on the way."""
    if not directory.parent.is_dir():
        raise InputError(
            f"{directory}: there is no directory {directory.parent}; make it first: mkdir -p {directory.parent}"
        )


@contextmanager
def output_file(results: Sequence[Path], target: Path, option: str) -> Iterator[Write]:
    """Open what an option names, keep only the rights to read these results, and return what writes it, once.

    InputError where it cannot be written.
    """
    from vtax.confinement.reading import writing_file

    def refused(error: OSError) -> InputError:
        return InputError(f"{option}: {target}: {error.strerror}; name a file that can be written")

    def write(pieces: Iterable[bytes]) -> None:
        try:
            outlet.put(pieces)
        except OSError as error:
            raise refused(error) from None

    with ExitStack() as stack:
        try:
            outlet = stack.enter_context(writing_file(results, target))
        except OSError as error:
            raise refused(error) from None
        yield write


def reading(command: Callable[Given, Found]) -> Callable[Given, Found]:
    """A command that reads results: it refuses those that its views cannot follow.

    Each file of a result is checked as it is read; what its values say together is not, and anybody may have made it.

    It works without Python's search for garbage. What it reads it keeps until it ends: of a large result an eighth of
    the time was spent on looking through that.
    """

    @wraps(command)
    def without_search(*given: Given.args, **named: Given.kwargs) -> Found:
        was_on = gc.isenabled()
        gc.disable()
        try:
            return command(*given, **named)
        except NONSENSE as error:
            if os.environ.get("VTAX_DEBUG") == "1":
                raise
            raise InputError(_refusal(error, [*given, *named.values()])) from None
        finally:
            if was_on:
                gc.enable()

    return without_search
