"""The bench's trial times: a mode that took little time but did not reach its width does not hold."""

from dataclasses import replace

from bench.search_cost import SearchCost, figures_of

COST = SearchCost(
    fixed_s=1000.0,
    fixed_width=0.02,
    precision_s=150.0,
    precision_width=0.02,
    cells=16,
    cells_reached=16,
    binary_s=1680.0,
    binary_trials=28,
    search_s=90.0,
    search_width=0.008,
    search_trials=60,
)


def test_times_are_compared_with_the_fixed_design() -> None:
    grid, search = figures_of(COST)
    assert (grid.ratio, grid.required, grid.holds) == (0.15, "at most 0.2 x", True)
    assert (search.ours, search.peers) == ("90 s", "fixed design: 1680 s")
    assert search.holds


def test_a_short_time_does_not_hold_without_the_width() -> None:
    assert [figure.holds for figure in figures_of(replace(COST, cells_reached=15))] == [False, True]
    assert [figure.holds for figure in figures_of(replace(COST, search_width=0.011))] == [True, False]
    slow = replace(COST, precision_s=201, search_s=169)
    assert [figure.holds for figure in figures_of(slow)] == [False, False]
