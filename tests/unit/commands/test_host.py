"""`vtax host`: who may serve this machine to a vtax elsewhere, and that only one does."""

import os
from pathlib import Path

import pytest

from vtax.cli import main
from vtax.commands import host
from vtax.machine import state
from vtax.machine.lock import HostLock
from vtax.testbed import host_session
from vtax.testbed.remote import server


@pytest.fixture(autouse=True)
def _served_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is read or answered, and the test's own standard output stays where it is."""
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    monkeypatch.setattr(server, "Server", lambda *_: pytest.fail("it serves"))


def test_a_user_without_root_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(host_session, "hold_host", lambda *_: pytest.fail("the machine is held"))
    assert main(["host", "--stdio"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "vtax host needs root: it creates namespaces, links and BPF programs\n"


def test_a_second_is_told_who_holds_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(state, "ROOT", os.geteuid())
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(host, "PATIENCE_S", 0.0)
    monkeypatch.setattr(host_session, "HostLock", lambda: HostLock(tmp_path / "state"))
    first = HostLock(tmp_path / "state")
    first.acquire("vtax host")
    try:
        assert main(["host", "--stdio"]) == 2
    finally:
        first.release()
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == (
        f"this host is in use by process {os.getpid()} (vtax host); wait until it ends, or stop it\n"
    )
