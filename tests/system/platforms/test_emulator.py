"""Versions of QEMU side by side: the installed one and the backport of a newer one."""

from pathlib import Path

import pytest

from tests.helpers.campaigns import assert_measured, vtax
from vtax.campaign.platform_set import probe, resolve
from vtax.platforms.emulator import find_emulator
from vtax.results import Result
from vtax.scenario import load_scenario
from vtax.testbed.machines import OneMachine

pytestmark = pytest.mark.system


@pytest.mark.usefixtures("no_archive")
def test_a_version_that_cannot_be_had_leaves_out_its_cells_alone(
    scenario: Path, kernels: Path, cache: Path
) -> None:
    cache.mkdir()
    (cache / kernels.name).symlink_to(kernels)
    checked = load_scenario(scenario).override(
        platforms=["qemu-virtio"],
        sets=["version=installed,backports", "platform.accelerator=emulated", "intended_mbps=1"],
    )
    cells = checked.cells()
    platforms = resolve(checked, cells)
    probe(platforms, cells, OneMachine())
    ((refused, unusable),) = platforms.refused.items()
    assert "version=backports" in refused
    assert "backports can be had: E: Could not resolve" in unusable.reason
    assert platforms.skipped == {}
    assert platforms.probe_of(cells[0]).facts["version"] == platforms.facts("qemu-virtio")["version"]


@pytest.mark.platform
@pytest.mark.usefixtures("leaves_nothing")
def test_versions_are_measured_side_by_side(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ["--set", "version=installed,backports", "--set", "intended_mbps=1", "--repetitions", "1"]
    done = vtax("run", scenario, "--platform", "qemu-virtio", *options, "--out", out)
    assert_measured(done)
    result = Result.open(out)
    installed, backport = result.campaign["platforms"]["qemu-virtio"]["facts"]["version"]
    assert installed == find_emulator("installed").version
    assert "bpo" in backport
    versions = result.query("SELECT DISTINCT version FROM trials ORDER BY ALL").to_pylist()
    assert [row["version"] for row in versions] == ["backports", "installed"]
