"""gVisor beside plain containers."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.commands import command
from vtax.platforms import PlatformUnusable, gvisor

SCRIPT = """
from vtax.platforms import presets
presets()["container"].resolve({"runtime": "runsc"})
"""


def test_its_runtime_is_refused_to_containers_by_a_process_that_has_read_no_scenario() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], check=False, capture_output=True, text=True)
    assert "allowed: the platform gvisor in its place" in done.stderr


def test_what_is_no_runsc_is_named(tmp_path: Path) -> None:
    command(tmp_path, "built", "echo crun version 1.8.1")
    with pytest.raises(PlatformUnusable, match="built is no runsc: it says crun"):
        gvisor.Kind().known(gvisor.Config(binary=str(tmp_path / "built")))
