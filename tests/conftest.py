"""What system tests share: a footprint of this machine, so that a test can show that nothing was left behind."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


def footprint() -> dict[str, set[str]]:
    """Everything on this machine that a run makes: namespaces, links, processes, scratch files, latency requests."""
    return {
        "namespaces": _names("/run/netns"),
        "links": _names("/sys/class/net"),
        "scratch": _names("/run/vtax") - {"lock"},
        "processes": {
            command
            for process in Path("/proc").glob("[0-9]*")
            if "vtax-agent" in (command := _command(process)) or "/run/vtax/" in command
        },
        "cgroups": {str(path) for path in Path("/sys/fs/cgroup").glob("*/vtax-*") if path.is_dir()},
    }


def _names(directory: str) -> set[str]:
    path = Path(directory)
    return set(os.listdir(path)) if path.exists() else set()  # noqa: PTH208 - names are all that is wanted


def _command(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


@pytest.fixture
def leaves_nothing() -> Iterator[None]:
    """Fails the test that uses it when the machine differs afterwards."""
    before = footprint()
    yield
    assert footprint() == before
