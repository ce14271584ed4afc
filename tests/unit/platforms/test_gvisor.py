"""gVisor beside plain containers."""

import subprocess
import sys

SCRIPT = """
from vtax.platforms import presets
presets()["container"].resolve({"runtime": "runsc"})
"""


def test_its_runtime_is_refused_to_containers_by_a_process_that_has_read_no_scenario() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], check=False, capture_output=True, text=True)
    assert "allowed: the platform gvisor in its place" in done.stderr
