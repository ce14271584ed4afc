"""Holding a host: no umask opens what a run makes, and a record that another user planted is refused by name."""

import os
import stat
from collections.abc import Iterator

import msgspec
import pytest

from tests.helpers.campaigns import vtax
from vtax.machine.namespace import Namespace, OwnedNamespace
from vtax.machine.state import STATE_DIRECTORY
from vtax.testbed.host_session import hold_host

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

NOBODY = 65534


@pytest.fixture(params=[0, 0o077], ids=["umask 0", "umask 077"])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_what_a_run_makes_is_its_own(umask: int) -> None:
    """Guests' notes and settings among it: root goes by them."""
    with hold_host("test") as record:
        made = record.scratch / "guest.cfg"
        made.write_text("kernel = ...\n")
        (record.scratch / "guest").mkdir()
        places = [STATE_DIRECTORY, *STATE_DIRECTORY.iterdir(), made, made.with_suffix("")]
        modes = {place: stat.S_IMODE(place.stat().st_mode) for place in places}
    assert {str(place): oct(mode) for place, mode in modes.items() if mode & 0o022} == {}
    assert {modes[STATE_DIRECTORY], modes[record.scratch]} == {0o711}
    assert os.umask(umask) == umask, "it is as it was"


def test_a_planted_record_is_not_gone_by() -> None:
    victim = Namespace("vtax-test-victim")
    record = STATE_DIRECTORY / "vtax-test-planted.owned"
    victim.create()
    try:
        record.write_bytes(msgspec.json.encode(OwnedNamespace(victim.name)) + b"\n")
        os.chown(record, NOBODY, NOBODY)
        refused = vtax("clean")
        assert refused.returncode == 1
        assert (
            f"{record} belongs to nobody (uid {NOBODY}), but vtax acts as root on what it" in refused.stderr
        )
        assert f"rm {record}" in refused.stderr
        assert refused.stdout.startswith("1 still there")
        assert victim.path.exists()
        os.chown(record, 0, 0)
        assert vtax("clean").stdout == f"removed namespace {victim.name}\n"
        assert not victim.path.exists()
    finally:
        record.unlink(missing_ok=True)
        victim.remove()
