"""What else runs on this machine."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from vtax.machine.cpu import threads_of
from vtax.machine.ingress import _napi_threads
from vtax.machine.processes import others, processes


@pytest.fixture
def oddly_named(tmp_path: Path) -> Iterator[int]:
    """A process whose name is no UTF-8 text."""
    program = os.fsencode(tmp_path) + b"/\xe4) (\xff"
    shutil.copy(shutil.which("sleep") or "sleep", program)
    process = subprocess.Popen([program, b"60"])
    yield process.pid
    process.kill()
    process.wait()


def test_a_process_of_any_name_is_seen(oddly_named: int) -> None:
    (found,) = [process for process in processes() if process.pid == oddly_named]
    assert found.parent == os.getpid()
    assert found.cpu_s < 1
    assert oddly_named in threads_of(oddly_named)
    assert oddly_named not in _napi_threads()


def test_what_descends_from_us_is_ours(oddly_named: int) -> None:
    foreign = {process.pid for process in others(processes(), os.getpid())}
    assert oddly_named not in foreign
    assert os.getpid() not in foreign
    assert 2 not in foreign, "kernel threads work for whoever caused it"
    assert oddly_named in {process.pid for process in others(processes(), oddly_named + 1)}
