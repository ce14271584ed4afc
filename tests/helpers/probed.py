"""Cells of a scenario, and what an emulated machine reports of them."""

from types import SimpleNamespace

from vtax.campaign.platform_set import PlatformSet, probe, resolve
from vtax.keys.cell import Cell
from vtax.platforms import Probe
from vtax.scenario import load_scenario


def probed(name: str, *sets: str) -> tuple[list[Cell], PlatformSet]:
    """A scenario's cells on raw and kvm-vhost, and what an emulated machine says of them."""
    checked = load_scenario(name).override(platforms=["raw", "kvm-vhost"], sets=list(sets))
    cells = checked.cells()
    platforms = resolve(checked, cells)
    uut = SimpleNamespace(
        is_emulated=True,
        prepare=lambda *_: Probe("emulated", {}),
        find_switch=lambda _: {},
        check_protocols=lambda *_: None,
        require_protocols=lambda _: None,
    )
    probe(platforms, cells, SimpleNamespace(machine=lambda _: uut))  # type: ignore[arg-type]
    assert platforms.skipped == {}
    return cells, platforms
