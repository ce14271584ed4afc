"""Kernels inside QEMU guests side by side: the distribution's and that of its backports."""

from pathlib import Path

import pytest

from tests.helpers.campaigns import assert_measured, vtax
from vtax.campaign.platform_set import probe, resolve
from vtax.platforms import qemu
from vtax.platforms.kernel import fetch_kernel
from vtax.results import Result
from vtax.scenario import load_scenario
from vtax.testbed.machines import OneMachine

pytestmark = pytest.mark.system


@pytest.mark.usefixtures("no_archive")
def test_a_kernel_that_cannot_be_had_leaves_out_its_cells_alone(
    scenario: Path, kernels: Path, cache: Path
) -> None:
    cache.mkdir()
    (cache / kernels.name).symlink_to(kernels)
    checked = load_scenario(scenario).override(
        platforms=["qemu-virtio"],
        sets=["platform.kernel=distribution,backports", "platform.accelerator=emulated", "intended_mbps=0.1"],
    )
    cells = checked.cells()
    platforms = resolve(checked, cells)
    probe(platforms, cells, OneMachine())
    ((refused, unusable),) = platforms.refused.items()
    assert "platform.kernel=backports" in refused
    assert "backports can be had: E: Could not resolve" in unusable.reason
    assert platforms.skipped == {}
    assert platforms.facts("qemu-virtio")["guest_kernel"] == fetch_kernel("distribution").version


@pytest.mark.parametrize("origin", ["distribution", "backports"])
def test_both_have_what_guests_may_be_asked_for(origin: str) -> None:
    kernel = fetch_kernel(origin)
    drivers = [
        qemu.Config(nic_model=model).driver
        for model in qemu.Config.model_fields["nic_model"].annotation.__args__
    ]
    modules = [*drivers, "sch_netem", "sch_tbf", "sctp", "8021q", "pktgen"]
    assert all(kernel.load_order(module) for module in modules)
    assert kernel.load_order("ipv6") == [], "it is built in"


@pytest.mark.platform
@pytest.mark.usefixtures("leaves_nothing")
def test_kernels_are_measured_side_by_side(scenario: Path, tmp_path: Path) -> None:
    """In guests of the least memory that there is."""
    out = tmp_path / "out"
    options = ["--set", "platform.kernel=distribution,backports", "--set", f"memory_bytes={128 << 20}"]
    options += ["--set", "intended_mbps=0.1", "--repetitions", "1"]
    done = vtax("run", scenario, "--platform", "qemu-virtio", *options, "--out", out)
    assert_measured(done)
    result = Result.open(out)
    distribution, backport = result.campaign["platforms"]["qemu-virtio"]["facts"]["guest_kernel"]
    assert distribution == fetch_kernel("distribution").version
    assert "+deb" in backport
    rows = result.query(
        'SELECT DISTINCT "platform.kernel" AS kernel, frames_received > 0 AS forwards, frames_lost '
        "FROM trials JOIN flows USING (trial_id) ORDER BY ALL"
    ).to_pylist()
    assert rows == [
        {"kernel": "backports", "forwards": True, "frames_lost": 0},
        {"kernel": "distribution", "forwards": True, "frames_lost": 0},
    ]
