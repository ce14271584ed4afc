"""What is read of a guest's console, which the guest writes."""

import contextlib
import os
import subprocess
import threading
from pathlib import Path

from vtax.platforms.console import MOST_BYTES, PIECE_BYTES, bounded, last_words, tail


def test_the_end_of_a_console_is_read_and_can_be_printed(tmp_path: Path) -> None:
    console = tmp_path / "console"
    assert (last_words(console), tail(console)) == ("", "")
    console.write_bytes(b"first\r\n\x1b[2Jsecond\x00\n\xff")
    assert tail(console, 2) == "\x1b[2Jsecond\x00\n\ufffd"


def test_a_console_without_end_costs_no_memory(tmp_path: Path) -> None:
    """Before, all of it was read."""
    console = tmp_path / "console"
    with console.open("wb") as file:
        file.truncate(1 << 40)
        file.seek(0, 2)
        file.write(b"\nKernel panic - not syncing: it fell over\n")
    assert last_words(console) == "Kernel panic - not syncing: it fell over"
    assert MOST_BYTES < 1 << 24


def test_of_endless_words_the_last_are_kept(tmp_path: Path) -> None:
    """Before, they filled /run, which is memory of the host."""
    console = tmp_path / "console"
    line = b"x" * 16383 + b"\n"
    with bounded(console) as sink:
        for _ in range(8 * MOST_BYTES // len(line)):
            os.write(sink, line)
            assert console.stat().st_size <= 2 * MOST_BYTES + PIECE_BYTES
        os.write(sink, b"Kernel panic - not syncing: it fell over\n")
        assert last_words(console) == "Kernel panic - not syncing: it fell over"
    assert last_words(console) == "Kernel panic - not syncing: it fell over"
    assert [path.name for path in tmp_path.iterdir()] == ["console"]


def test_what_a_process_said_last_is_there_once_it_has_ended(tmp_path: Path) -> None:
    for attempt in range(20):
        with bounded(tmp_path / "log") as sink:
            subprocess.run(["sh", "-c", f"echo {attempt} >&2"], check=True, stderr=sink)
        assert tail(tmp_path / "log") == str(attempt)


def pipes() -> set[str]:
    """Those that this process has open."""
    found = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # that of the listing itself
            found.add(str(descriptor.readlink()))
    return {each for each in found if each.startswith("pipe:")}


def test_nothing_stays_open_behind_a_process(tmp_path: Path) -> None:
    before, others = pipes(), {*threading.enumerate()}  # of tests before, whose ends come in their own time
    with bounded(tmp_path / "log") as sink:
        os.write(sink, b"said\n")
        (drain,) = [thread for thread in threading.enumerate() if thread not in others]
    drain.join(10)
    assert not drain.is_alive()
    assert pipes() <= before
    assert tail(tmp_path / "log") == "said"
