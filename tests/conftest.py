"""What system tests share: a footprint of this machine, so that a test can show that nothing was left behind."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# What `make fuzz` runs the tests marked `fuzz` with.
settings.register_profile("fuzz", max_examples=2000, deadline=None)


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
        "mounts": {
            line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if "vtax" in line
        },
        "programs": _bpf("prog"),
        "maps": _bpf("map"),
        "latency": {
            str(process)
            for process in Path("/proc").glob("[0-9]*")
            if any(_target(handle) == "/dev/cpu_dma_latency" for handle in _handles(process))
        },
    }


def settles(expected: dict[str, set[str]], patience_s: float = 5.0) -> bool:
    """Whether the machine comes back to a footprint: the kernel frees programs and maps some time after their end."""
    deadline = time.monotonic() + patience_s
    while footprint() != expected:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _bpf(kind: str) -> set[str]:
    listed = subprocess.run(["bpftool", "-j", kind, "show"], check=True, capture_output=True, text=True)
    return {f"{item['id']} {item.get('name')}" for item in json.loads(listed.stdout or "[]") if "id" in item}


def _handles(process: Path) -> list[Path]:
    try:
        return list((process / "fd").iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return []


def _target(handle: Path) -> str:
    try:
        return os.readlink(handle)  # noqa: PTH115 - a target as the kernel words it
    except OSError:
        return ""


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
    if not settles(before):
        assert footprint() == before
