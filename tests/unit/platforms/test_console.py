"""What is read of a guest's console, which the guest writes."""

from pathlib import Path

from vtax.platforms.console import MOST_BYTES, last_words, tail


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
