"""What a campaign shows while it runs: a progress bar on a terminal, a plain line a trial elsewhere.

Both write to stderr, so that stdout holds results alone, and only when the campaign calls: nothing is drawn
while a trial measures.
"""

import sys
from pathlib import Path
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from vtax.output import TerminalConsole

SPEED_WINDOW_S = 900.0
"""How far back the time left looks: some dozen trials of the longest published experiments."""

TABLE_COLUMNS = 100


class LineProgress:
    """Plain lines: one for each trial, each note, and how far a campaign is that ends by its results."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._trials: int | None = 0
        self._done = 0
        self._cell = ""

    def campaign(self, name: str, trials: int | None, directory: Path) -> None:
        """The campaign begins."""
        self._trials = trials
        self._line(f"{name}: {_trials(trials)}, results in {directory}")

    def note(self, text: str) -> None:
        """Something a user should know."""
        self._line(text)

    def standing(self, text: str) -> None:
        """How far the campaign is."""
        self._line(text)

    def trial_started(self, number: int, cell_key: str) -> None:
        """Remembers the cell for the line at the trial's end."""
        self._cell = cell_key

    def trial_finished(self, number: int, verdict: str, headline: str) -> None:
        """The trial's line; an invalid one does not count, as it is repeated."""
        self._done += verdict != "invalid"
        of = "" if self._trials is None else f"/{self._trials}"
        self._line(f"[{self._done}{of}] {self._cell}: {headline} ({verdict})")

    def finished(self) -> None:
        """The campaign has ended: every line is out already."""

    def _line(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


class BarProgress:
    """A bar with the time left, the current cell, and the last number below it; notes scroll by above.

    A campaign that ends by its results has a line besides of how far it is.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            MofNCompleteColumn(),
            BarColumn(bar_width=None),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
            auto_refresh=False,
            speed_estimate_period=SPEED_WINDOW_S,
            expand=True,
        )
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._task = self._bar.add_task("", total=None)
        self._cell = ""
        self._last = ""
        self._standing = ""

    def campaign(self, name: str, trials: int | None, directory: Path) -> None:
        """The campaign begins: the bar appears."""
        self._console.print(
            f"{name}: {_trials(trials)}, results in {directory}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
        self._bar.update(self._task, total=trials)
        self._live.start()
        self._draw()

    def note(self, text: str) -> None:
        """Something a user should know, above the bar."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def standing(self, text: str) -> None:
        """How far the campaign is, below the bar."""
        self._standing = text
        self._draw()

    def trial_started(self, number: int, cell_key: str) -> None:
        """The current cell."""
        self._cell = cell_key
        self._draw()

    def trial_finished(self, number: int, verdict: str, headline: str) -> None:
        """The last number; an invalid trial does not count, as it is repeated."""
        self._last = f"{headline} ({verdict}) {self._cell}"
        self._bar.advance(self._task, verdict != "invalid")
        self._draw()

    def finished(self) -> None:
        """The campaign has ended: the bar disappears."""
        self._live.stop()

    def _draw(self) -> None:
        lines = [f"now   {self._cell}", f"last  {self._last}", *filter(None, [self._standing])]
        shown = (Text(line, overflow="ellipsis", no_wrap=True) for line in lines)
        self._live.update(Group(self._bar, *shown), refresh=True)


def _trials(planned: int | None) -> str:
    return "number of trials set by their results" if planned is None else f"{planned} trials"


def table_console() -> Console:
    """Stdout as tables are laid out on it: the terminal's width, and the full width of a table where there is none."""
    console = TerminalConsole(sys.stdout)
    return console if console.is_terminal else TerminalConsole(sys.stdout, width=TABLE_COLUMNS)


def progress_on(stream: TextIO, plain: bool) -> LineProgress | BarProgress:
    """The progress that suits `stream`: a bar on a terminal unless `plain`, else lines."""
    console = TerminalConsole(stream)
    return LineProgress(stream) if plain or not console.is_terminal else BarProgress(console)
