"""A plugin: pytest that is told to end removes what its tests have made, as after Ctrl-C."""

import signal
from types import FrameType

import pytest


def pytest_configure() -> None:
    """Has SIGTERM, with which `timeout` and CI end a run, interrupt the test instead of ending Python at once."""
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # what is being removed is removed whole
    raise pytest.exit.Exception("told to end", 128 + signal.SIGTERM)
