"""A plugin for runs whose workers have rooms: shows that the machine around them is the same afterwards.

pytest -p tests.helpers.rooms --tx '5*popen//python=tests/helpers/room' --dist loadfile -m system
"""

import os

import pytest

from tests.helpers.footprint import ROOM, Footprint, differences, footprint, settles

BEFORE = pytest.StashKey[Footprint]()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Takes the machine's footprint, before there is a room."""
    if ROOM not in os.environ:
        session.config.stash[BEFORE] = footprint()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begins with the tests that may take longest, so that no worker is left alone with one of them."""
    items.sort(key=_limit_s, reverse=True)


def _limit_s(item: pytest.Item) -> float:
    """The time limit that a test has of its own; 0 for all others."""
    own = item.get_closest_marker("timeout")
    return float(own.args[0]) if own else 0.0


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails the run if something is left, once the rooms are gone."""
    before = session.config.stash.get(BEFORE, None)
    if before is not None and not settles(before, patience_s=30.0):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        left = differences(before, footprint())
        session.config.get_terminal_writer().line(f"\nleft on this machine: {left}", red=True)
