"""Processes are signalled by descriptor: one that has got the id of another meanwhile is left alone."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

LAST_ID = Path("/proc/sys/kernel/ns_last_pid")
RECYCLED = f"""
import subprocess
from pathlib import Path
from vtax.machine import pidfd

first, other = subprocess.Popen(["sleep", "60"]), []
read_start = pidfd.process_start
started = read_start(first.pid)

def recycled(pid):
    answer = read_start(pid)
    if not other:
        first.kill()
        first.wait()
        Path("{LAST_ID}").write_text(str(pid - 1))
        other.append(subprocess.Popen(["sleep", "60"]))
    return answer

pidfd.process_start = recycled
pidfd.stop_process(first.pid, started)
assert other[0].pid == first.pid
assert other[0].poll() is None, "another process was ended"
other[0].kill()
other[0].wait()
"""


@pytest.mark.skipif(not LAST_ID.exists(), reason="this kernel gives out no id that is asked for")
def test_an_id_that_is_recycled_before_the_signal_ends_nobody_else() -> None:
    """In a process namespace of its own, where nobody else takes the id."""
    own = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child=KILL"]
    done = subprocess.run(
        [*own, sys.executable, "-c", RECYCLED], check=False, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
