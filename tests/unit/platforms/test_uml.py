"""User-mode Linux guests: their package, and the memory that they may have."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vtax.platforms import PlatformUnusable, uml


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Makes the package lists name a version that the archive does not give away; the cache is empty."""
    monkeypatch.setenv("VTAX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    def offer(version: str) -> None:
        for name, script in (
            ("apt-cache", f"echo 'Version: {version}'"),
            ("apt-get", "echo 'E: no' >&2; exit 100"),
        ):
            (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / name).chmod(0o755)

    uml.fetch_uml.cache_clear()
    yield offer
    uml.fetch_uml.cache_clear()


def test_offline_the_newest_cached_kernel_is_used(archive: Callable[[str], None], tmp_path: Path) -> None:
    archive("6.1um5")
    for version in ("6.1um9", "6.1um10"):
        binary = tmp_path / f"cache/uml/user-mode-linux={version}/usr/bin/linux.uml"
        binary.parent.mkdir(parents=True)
        binary.touch()
    assert uml.fetch_uml().name == "user-mode-linux=6.1um10"


def test_without_a_package_it_says_what_to_do(archive: Callable[[str], None]) -> None:
    archive("6.1um5")
    with pytest.raises(
        PlatformUnusable, match=r"downloading user-mode-linux=6\.1um5 failed: E: no"
    ) as unusable:
        uml.fetch_uml()
    assert unusable.value.fix == "apt-get update && apt-get download user-mode-linux=6.1um5"


@pytest.mark.parametrize("memory_bytes", [1 << 20, 1 << 40])
def test_memory_has_bounds(memory_bytes: int) -> None:
    with pytest.raises(ValueError, match="memory_bytes"):
        uml.Config(memory_bytes=memory_bytes)


def test_memory_must_fit_where_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    room = os.statvfs(uml.MEMORY)
    too_much = room.f_blocks * room.f_frsize + (1 << 20)
    monkeypatch.setattr(uml, "fetch_uml", lambda: pytest.fail("nothing is fetched for it"))
    monkeypatch.setattr(uml.Kind, "check", lambda _self, _config: None)
    config = uml.Config().model_copy(update={"memory_bytes": too_much})
    with pytest.raises(PlatformUnusable, match="has no room for memory_bytes"):
        uml.Kind().prepare(config)


def test_a_cache_that_is_closed_to_the_guest_is_named(
    able: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uml, "REGISTERS", able)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    monkeypatch.setenv("VTAX_CACHE", str(closed / "cache"))
    with pytest.raises(PlatformUnusable, match="is closed to the user nobody") as unusable:
        uml.Kind().check(uml.Config())
    assert unusable.value.fix.startswith("chmod o+x ")


def test_a_kernel_is_the_distributions_or_a_file_that_everybody_may_reach() -> None:
    assert uml.Config().shared_files == {"kernel", "initrd"}
    with pytest.raises(ValueError, match='"backports" is not allowed; allowed: distribution, the full path'):
        uml.Config(kernel="backports")
