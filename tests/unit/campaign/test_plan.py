"""The order of a campaign."""

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.trials import make_cell
from vtax.campaign.plan import plan_block

CELLS = [
    make_cell(platform, frame_bytes=frame_bytes, intended_mbps=load, streams=streams)
    for platform in ("raw", "container", "qemu-virtio")
    for frame_bytes in (64, 1500)
    for load in (10.0, 100.0, None)
    for streams in (1, 3)
]


@given(st.integers(0, 2**31), st.integers(0, 100))
def test_a_block_holds_every_cell_once_and_plots_stay_together(seed: int, block: int) -> None:
    plots = plan_block(CELLS, seed, block)
    assert sorted(cell.key for plot in plots for cell in plot.cells) == sorted(cell.key for cell in CELLS)
    assert len(plots) == 3
    assert all({cell.plot for cell in plot.cells} == {plot.key} for plot in plots)
    assert all(max(cell.streams for cell in plot.cells) == 3 for plot in plots)


@given(st.integers(0, 2**31))
def test_the_seed_alone_gives_the_order(seed: int) -> None:
    assert plan_block(CELLS, seed, 0) == plan_block(CELLS, seed, 0)


def test_blocks_differ() -> None:
    orders = {
        tuple(cell.key for plot in plan_block(CELLS, 1, block) for cell in plot.cells) for block in range(20)
    }
    assert len(orders) == 20
    assert len({plan_block(CELLS, 1, block)[0].key for block in range(20)}) == 3
