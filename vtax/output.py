"""Standard output as vtax writes it: its failures are told from those of files, and no character stops it."""

import io
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


PYTHONS_CHOICE = ("strict", "surrogateescape")
"""How Python treats what an encoding does not have, unless its user chose otherwise; both end at a plus-minus sign."""


class OutputError(OSError):
    """Standard output cannot be written."""


class _Descriptor(io.FileIO):
    """The file descriptor of standard output."""

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write as much of `data` as fits. OutputError where nothing does."""
        try:
            return super().write(data)
        except OSError as error:
            raise OutputError(error.errno, error.strerror) from None


def own_standard_output() -> None:
    """Have `sys.stdout` raise OutputError, and escape what its encoding does not have, as standard error does.

    It stays as it is where it was closed before vtax began, or where something else stands in its place.
    """
    given = sys.__stdout__
    if given is None or sys.stdout is not given:
        return
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Descriptor(given.fileno(), "wb", closefd=False)),
        encoding=given.encoding,
        errors="backslashreplace" if given.errors in PYTHONS_CHOICE else given.errors,
        line_buffering=given.isatty() or given.write_through,
    )
