"""How much more memory this process came to need."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def at_most_kb_more(most_kb: int) -> Iterator[None]:
    """Fails where this process at some moment needs so much more than now (proc_pid_clear_refs(5))."""
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak of tests before
    before_kb = _peak_kb()
    yield
    assert _peak_kb() - before_kb < most_kb


def _peak_kb() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    (peak,) = (line for line in lines if line.startswith("VmHWM:"))
    return int(peak.split()[1])
