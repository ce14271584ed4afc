"""Progress: what a watcher sees, on a terminal and elsewhere."""

import io
from pathlib import Path
from typing import TextIO, cast

from rich.console import Console

from vtax.campaign import Progress
from vtax.output import TerminalConsole, VisibleText
from vtax.terminal import BarProgress, LineProgress, progress_on

CELL = "platform=raw streams=1 intended_mbps=max"


def play(progress: Progress) -> None:
    """A campaign of two trials, of which the first needs a second attempt."""
    progress.campaign("quick", 2, Path("results/quick"))
    progress.note("qemu is skipped: [no qemu]")
    for number, verdict in enumerate(["invalid", "valid", "suspect"], start=1):
        progress.trial_started(number, CELL)
        progress.trial_finished(number, verdict, f"received {number}00.0 of 1000.0 Mbit/s")
    progress.finished()


def test_plain_lines() -> None:
    stream = io.StringIO()
    play(LineProgress(stream))
    assert stream.getvalue().splitlines() == [
        "quick: 2 trials, results in results/quick",
        "qemu is skipped: [no qemu]",
        f"[0/2] {CELL}: received 100.0 of 1000.0 Mbit/s (invalid)",
        f"[1/2] {CELL}: received 200.0 of 1000.0 Mbit/s (valid)",
        f"[2/2] {CELL}: received 300.0 of 1000.0 Mbit/s (suspect)",
    ]


def test_what_a_guest_says_does_not_command_the_terminal() -> None:
    for console in (False, True):
        stream = io.StringIO()
        progress = (
            BarProgress(TerminalConsole(stream, is_terminal=True, width=120))
            if console
            else LineProgress(cast(TextIO, VisibleText(stream)))
        )
        progress.campaign("quick", 2, Path("results/quick"))
        progress.note("guest: \x1b]0;lie\x07\nand a line")
        progress.trial_started(1, CELL)
        progress.trial_finished(1, "invalid", "\x1b]0;lie\x07")
        progress.finished()
        assert "\x1b]0;" not in stream.getvalue()
        bell = "" if console else r"\x07"  # rich leaves it out
        assert f"guest: \\x1b]0;lie{bell}\nand a line" in stream.getvalue()


def test_a_bar_on_a_terminal() -> None:
    stream = io.StringIO()
    play(BarProgress(Console(file=stream, force_terminal=True, width=120)))
    shown = stream.getvalue()
    for part in (
        "2/2",
        "left",
        f"now   {CELL}",
        f"last  received 300.0 of 1000.0 Mbit/s (suspect) {CELL}",
        "[no qemu]",
        "results/quick",
    ):
        assert part in shown


def test_how_far_it_is_stays_below_the_bar_and_is_a_line_elsewhere() -> None:
    stream = io.StringIO()
    bar = BarProgress(Console(file=stream, force_terminal=True, width=80))
    bar.campaign("quick", None, Path("r"))
    far = f"3 quads: 1 of 2 rules on cells decided; 26 min left; open: {CELL}"
    bar.standing(far)
    stream.truncate(0)
    bar.trial_started(13, CELL)
    assert "3 quads: 1 of 2 rules on cells decided; 26 min left" in stream.getvalue()
    bar.finished()
    plain = io.StringIO()
    LineProgress(plain).standing(far)
    assert plain.getvalue() == f"{far}\n"


def test_a_bar_never_wraps() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=40, height=20)
    progress = BarProgress(console)
    progress.campaign("quick", 1, Path("r"))
    progress.trial_started(1, "platform=" + "x" * 100)
    progress.finished()
    assert "x" * 41 not in stream.getvalue()


def test_the_stream_decides() -> None:
    assert isinstance(progress_on(io.StringIO(), plain=False), LineProgress)

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    assert isinstance(progress_on(Terminal(), plain=False), BarProgress)
    assert isinstance(progress_on(Terminal(), plain=True), LineProgress)
