"""What a guest said last: its kernel on the console, its programs in a log."""

import re
from pathlib import Path

TELLING = re.compile(r"(?<!end )Kernel panic.*|Out of memory.*|Oops.*|BUG:.*")
"""What a kernel says when it ends or kills; a panic's last line repeats its first."""
LINES_AFTER = 25
"""A kernel's panic and its call trace."""
LINES = 10
MOST_BYTES = 1 << 20


def last_words(console: Path) -> str:
    """The last telling line and what follows it, or the last few lines; empty where there is no console."""
    if not console.exists():
        return ""
    lines = _end_of(console)
    telling = [at for at, line in enumerate(lines) if TELLING.search(line)]
    return "\n".join(lines[telling[-1] :][:LINES_AFTER] if telling else lines[-LINES:])


def telling_line(words: str) -> str | None:
    """What a kernel said when it ended or killed, without its time stamp; None where it said nothing of the kind."""
    found = TELLING.findall(words)
    return found[-1].strip() if found else None


def tail(log: Path, lines: int = LINES) -> str:
    """The last lines of a log, empty if there is none."""
    if not log.exists():
        return ""
    return "\n".join(_end_of(log)[-lines:])


def _end_of(log: Path) -> list[str]:
    """The last lines of a log, which a guest may have made as long as it likes."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - MOST_BYTES))
        return file.read(MOST_BYTES).decode(errors="replace").splitlines()
