"""A run of tests that is told to end leaves nothing behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

TEST = """
import threading
from pathlib import Path

import pytest

@pytest.fixture
def made():
    path = Path("made")
    path.touch()
    yield
    path.unlink()

def test(made):
    print("made", flush=True)
    threading.Event().wait()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_fixtures_made_is_gone(number: signal.Signals, tmp_path: Path) -> None:
    """Before, SIGTERM ended Python at once: network namespaces of a cluster's tests stayed."""
    (tmp_path / "test_it.py").write_text(TEST)
    run = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-s", "-q", "-p", "tests.helpers.ended", "test_it.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""},
        stdout=subprocess.PIPE,
        text=True,
    )
    with run:
        assert run.stdout is not None
        assert any(line == "made\n" for line in run.stdout)
        assert (tmp_path / "made").exists()
        run.send_signal(number)
    assert not (tmp_path / "made").exists()
    assert run.returncode
