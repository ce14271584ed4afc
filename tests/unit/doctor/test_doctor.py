"""What the doctor says of this version, of KVM, and of links without root."""

import os
from pathlib import Path

import pytest

from tests.helpers.checks import of_group
from vtax.doctor import Check, examine, links, platforms
from vtax.platforms import accelerator
from vtax.platforms.accelerator import find_accelerator


def test_flow_control_by_version() -> None:
    assert "holds" in links._flow_control_by_version("6.16.0-1-amd64")
    assert "holds" in links._flow_control_by_version("7.0")
    with pytest.raises(OSError, match=r"Linux 6\.9\.1 drops"):
        links._flow_control_by_version("6.9.1")


def test_links_need_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    (check,) = of_group(examine(tmp_path), "links").values()
    assert "not root" in check.detail
    assert not list(tmp_path.iterdir())


def test_kvm_is_what_a_boot_has_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VTAX_CACHE", str(tmp_path))
    monkeypatch.setattr(accelerator, "DEVICE", Path("/dev/null"))  # any device that can be opened
    assert platforms.kvm().detail == "not probed yet: the first run finds out"
    find_accelerator("one", lambda _limit_s: False)
    assert platforms.kvm().detail.startswith("emulated CPU (KVM did not boot a guest)")
    assert platforms.kvm().fix == f"rm {tmp_path}/accelerator.json"
    find_accelerator("another", lambda _limit_s: True)
    assert platforms.kvm() == Check("platforms", "KVM", True, "kvm")
