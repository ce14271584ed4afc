"""The edge of what vtax prints: no text commands a terminal, and failures of standard output are told from files'.

What is printed may quote guests, results and files of anybody. Control characters in it are shown as escapes, on both
streams and in whatever rich lays out; only the styles and the cursor movements that rich itself adds pass.
"""

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""C0 but newline and tab, DEL, C1, and what turns the direction of text."""


PYTHONS_CHOICE = ("strict", "surrogateescape")
"""How Python treats what an encoding does not have, unless its user chose otherwise; both end at a plus-minus sign."""


STANDARD_STREAMS = 3


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


def hold_standard_streams() -> None:
    """Have no file take the number of a standard stream that was closed before vtax began."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) < STANDARD_STREAMS:
        pass
    os.close(descriptor)


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


def visible(text: str) -> str:
    """Return `text` with escapes for the characters that would command a terminal; lines and tabs stay."""
    return COMMANDS.sub(lambda found: repr(found[0])[1:-1], text)


class VisibleText(io.TextIOBase):
    """A stream that writes text to `styled` with escapes; only rich, by TerminalConsole, writes there directly."""

    def __init__(self, styled: TextIO) -> None:
        self.styled = styled

    def write(self, text: str, /) -> int:
        """Write `text` as `visible` returns it."""
        self.styled.write(visible(text))
        return len(text)

    def flush(self) -> None:
        """Flush the stream below."""
        self.styled.flush()

    def fileno(self) -> int:
        """Return the descriptor of the stream below."""
        return self.styled.fileno()

    def isatty(self) -> bool:
        """Return whether the stream below is a terminal."""
        return self.styled.isatty()

    def writable(self) -> bool:
        """Return True."""
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the stream below."""
        return self.styled.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """How the stream below treats what its encoding does not have."""
        return self.styled.errors


@contextlib.contextmanager
def visible_output() -> Iterator[None]:
    """Have all that is printed meanwhile pass through VisibleText, on standard output and on standard error.

    A stream that something else has taken the place of since stays: click does so where the reader has gone.
    """
    given = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = shown = tuple(map(_made_visible, given))
    try:
        yield
    finally:
        if sys.stdout is shown[0]:
            sys.stdout = given[0]
        if sys.stderr is shown[1]:
            sys.stderr = given[1]


def _made_visible(stream: TextIO | None) -> TextIO:
    """Return a stream as visible_output() puts it in place; None stays, which is one that was closed."""
    is_done = stream is None or isinstance(stream, VisibleText)
    return cast(TextIO, stream if is_done else VisibleText(cast(TextIO, stream)))


class TerminalConsole(Console):
    """rich's console on a stream: styles and cursor movements are rich's, text has escapes before it is laid out."""

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        width: int | None = None,
        is_terminal: bool | None = None,
        color_system: Literal["auto", "standard"] = "auto",
    ) -> None:
        styled = stream.styled if isinstance(stream, VisibleText) else stream
        super().__init__(file=styled, width=width, force_terminal=is_terminal, color_system=color_system)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render as rich does, without what commands a terminal in any text."""
        for segment in super().render(_visible_text(renderable), options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


def _visible_text(renderable: RenderableType) -> RenderableType:
    """Return a text with escapes in the styles of what they stand for, so that it is wrapped with them."""
    if not isinstance(renderable, Text) or not COMMANDS.search(renderable.plain):
        return renderable
    shown = renderable.blank_copy()
    edges = [edge for found in COMMANDS.finditer(renderable.plain) for edge in found.span()]
    for part in renderable.divide(edges):
        style = part.spans[0].style if part.spans else ""
        shown.append_text(part if not COMMANDS.search(part.plain) else Text(visible(part.plain), style))
    return shown
