"""How far the clocks of two time namespaces are apart."""

import subprocess
import sys

import pytest

from vtax.machine.clock import clock_identity

pytestmark = pytest.mark.system


def test_a_time_namespace_makes_another_clock() -> None:
    code = "from vtax.machine.clock import clock_identity; print(clock_identity())"

    def told(*before: str) -> str:
        done = subprocess.run(
            [*before, sys.executable, "-c", code], check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    assert told() == clock_identity()
    assert told("unshare", "--time", "--fork", "--monotonic", "5") != clock_identity()
