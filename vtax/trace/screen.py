"""What a trace shows while it runs: its tables, drawn anew on a terminal, or a plain line a way elsewhere.

Both write to stderr; the last tables go to stdout.
"""

import contextlib
from collections.abc import Iterator
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from vtax.model import numbers
from vtax.output import TerminalConsole
from vtax.trace.session import Result, Screen
from vtax.trace.tables import drops_table, remarks, stages_table
from vtax.views.printing import Page, print_table


class LineScreen:
    """Plain lines."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, result: Result) -> None:
        """A line a way, once a round."""
        for reading in result.reading.trails if result.reading is not None else ():
            total = reading.total
            mean = "" if total.mean_ns is None else f", mean {numbers.microseconds(total.mean_ns)} µs"
            self.note(f"{result.elapsed_s:.0f} s  {reading.trail.name}: {total.count:,} packets{mean}")

    def note(self, text: str) -> None:
        """A line of its own."""
        print(text, file=self._stream, flush=True)


class LiveScreen:
    """The tables, drawn over one another."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> "LiveScreen":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, result: Result) -> None:
        """Draw them anew."""
        self._live.update(Text.from_ansi(_drawn(result, self._console)), refresh=True)

    def note(self, text: str) -> None:
        """A line above them."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


@contextlib.contextmanager
def screen_on(stream: TextIO, plain: bool) -> Iterator[Screen]:
    """The screen that suits `stream`: drawn on a terminal unless `plain`, else lines."""
    console = TerminalConsole(stream)
    if plain or not console.is_terminal:
        yield LineScreen(stream)
        return
    with LiveScreen(console) as live:
        yield live


def print_result(result: Result, console: Console) -> None:
    """The last tables, and what could not be observed."""
    page = Page(console)
    print_table(stages_table(result), page)
    print_table(drops_table(result), page)
    for text in remarks(result):
        console.print(Text(f"not observed: {text}", "dim"), soft_wrap=True)


def _drawn(result: Result, console: Console) -> str:
    inner = TerminalConsole(width=console.width, is_terminal=True, color_system="standard")
    with inner.capture() as captured:
        print_result(result, inner)
    return captured.get()
