"""The grid and the command line's changes to it."""

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vtax.inputs import Document, InputError
from vtax.scenario import Scenario, load_scenario
from vtax.workloads.forwarding.keys import Forwarding

QUICK = load_scenario("quick")

VALUES = {
    "platform": st.sampled_from(["raw", "container", "qemu-virtio", "a b", "x=1 y", '"']),
    "streams": st.integers(1, 8),
    "frame_bytes": st.integers(64, 1514),
    "intended_mbps": st.one_of(st.just("max"), st.integers(1, 1000), st.floats(0.1, 1000)),
    "link_mbps": st.one_of(st.just("unlimited"), st.integers(1, 1000)),
    "flow_control": st.booleans(),
    "workload.duration_s": st.floats(0.1, 3600),
    "platform.x": st.one_of(st.text(max_size=6), st.integers(-9, 9), st.booleans()),
    "vcpus": st.integers(1, 9),
}


def distinct(values: st.SearchStrategy[object]) -> st.SearchStrategy[list[object]]:
    def as_text(value: object) -> str:
        return (
            str(value).lower()
            if isinstance(value, bool)
            else f"{value:g}"
            if isinstance(value, float)
            else str(value)
        )

    return st.lists(values, min_size=1, max_size=2, unique_by=as_text)


GRIDS = st.fixed_dictionaries(
    {"platform": distinct(VALUES["platform"])},
    optional={name: distinct(values) for name, values in VALUES.items() if name != "platform"},
)
PLOT_FACTORS = {"platform", "link_mbps", "flow_control", "platform.x", "vcpus"}


@settings(deadline=None)
@given(GRIDS)
def test_a_cell_for_each_combination_and_no_key_twice(factors: dict[str, list[object]]) -> None:
    data = QUICK.resolved() | {"factors": factors}
    scenario = Scenario.from_document(Document(Path("grid.yaml"), data))
    cells = scenario.cells()
    assert len(cells) == math.prod(map(len, factors.values()))
    assert len({cell.key for cell in cells}) == len(cells)
    assert all(list(cell.factors) == list(factors) for cell in cells)
    plots = math.prod(len(values) for name, values in factors.items() if name in PLOT_FACTORS)
    assert len({cell.plot for cell in cells}) == plots


@settings(deadline=None)
@given(GRIDS)
def test_a_resolved_scenario_gives_the_same_cells_again(factors: dict[str, list[object]]) -> None:
    scenario = Scenario.from_document(Document(Path("grid.yaml"), QUICK.resolved() | {"factors": factors}))
    again = Scenario.from_resolved(scenario.resolved())
    assert again.cells() == scenario.cells()
    assert again.resolved() == scenario.resolved()


@given(st.lists(st.integers(64, 1514), min_size=1, max_size=5, unique=True))
def test_overriding_changes_that_factor_and_nothing_else(sizes: list[int]) -> None:
    changed = QUICK.override(sets=[f"frame_bytes={','.join(map(str, sizes))}"])
    assert {cell.of(Forwarding).frame_bytes for cell in changed.cells()} == set(sizes)
    back = changed.override(sets=["frame_bytes=64,1500"])
    assert {cell.workload for cell in back.cells()} == {cell.workload for cell in QUICK.cells()}


def test_no_override_is_the_same_scenario() -> None:
    assert QUICK.override() == QUICK


def test_a_list_makes_a_factor_in_its_old_place() -> None:
    changed = QUICK.override(sets=["workload.frame_bytes=100,200", "mtu=1000,1500"])
    assert [factor.column for factor in changed.factors] == [
        "platform",
        "frame_bytes",
        "intended_mbps",
        "mtu",
    ]


def test_one_value_fixes_the_key() -> None:
    changed = QUICK.override(
        sets=["frame_bytes=100", "intended_mbps=max", "vcpus=2", "testbed.link_mbps=unlimited"]
    )
    assert [cell.key for cell in changed.cells()] == [f"platform={name}" for name in QUICK.platforms]
    cell = changed.cells()[0]
    assert (cell.of(Forwarding).frame_bytes, cell.of(Forwarding).intended_mbps, cell.testbed.link_mbps) == (
        100,
        None,
        None,
    )
    assert cell.platform_overrides == {"vcpus": 2}


def test_the_platform_stays_a_factor() -> None:
    assert QUICK.override(platforms=["raw"]).cells()[0].key == "platform=raw frame_bytes=64 intended_mbps=10"
    assert QUICK.override(sets=["platform=raw"]).platforms == ["raw"]


def test_repetitions_and_duration() -> None:
    changed = QUICK.override(repetitions=5, duration_s=2)
    assert changed.repetitions == 5
    assert {cell.workload.duration_s for cell in changed.cells()} == {2}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"sets": ["frame_bytes=63"]},
            "--set frame_bytes=63: workload.frame_bytes: 63 is too small; allowed: 64 to",
        ),
        ({"sets": ["frame_bytes=64,63"]}, "--set frame_bytes=64,63: factors.frame_bytes: 63 is too small"),
        ({"sets": ["frame_bytes=1515"]}, "--set frame_bytes=1515: workload.frame_bytes: 1515 does not fit"),
        (
            {"sets": ["frame_bytes=64,64"]},
            "--set frame_bytes=64,64: factors.frame_bytes: 64 is in the list twice",
        ),
        ({"sets": ["frame_bytes=64,"]}, "--set frame_bytes=64,: a value is missing"),
        ({"sets": ["frame_bytes"]}, "--set frame_bytes: KEY=VALUE is expected"),
        ({"sets": ["frame_bytes=64k"]}, '"64k" is not a whole number of bytes'),
        (
            {"sets": ["frame_size=64"]},
            '--set frame_size=64: unknown factor "frame_size"; did you mean "frame_bytes"? vtax schema',
        ),
        ({"sets": ["mtu=1e999"]}, "--set mtu=1e999: 1e999 is too large a number"),
        (
            {"sets": ["mtu=576", "testbed.mtu=1000"]},
            "--set testbed.mtu=1000: mtu is already set by --set mtu=576",
        ),
        (
            {"sets": ["platform=raw"], "platforms": ["raw"]},
            "--platform raw: platform is already set by --set platform",
        ),
        ({"platforms": ["raw", "raw"]}, "--platform raw,raw: factors.platform: raw is in the list twice"),
        ({"platforms": [""]}, '--platform : factors.platform: "" is not the name of a platform preset'),
        ({"repetitions": 0}, "--repetitions 0: repetitions: 0 is too small"),
        ({"duration_s": 0.01}, "--duration 0.01: workload.duration_s: 0.01 is too small"),
        ({"duration_s": math.nan}, "--duration nan"),
    ],
)
def test_an_option_is_refused_as_it_was_typed(options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError) as caught:
        QUICK.override(**options)  # type: ignore[arg-type]
    assert said in str(caught.value)


@given(st.text(max_size=30))
def test_no_text_breaks_an_override(text: str) -> None:
    try:
        QUICK.override(sets=[text, f"frame_bytes={text}"])
    except InputError as error:
        assert str(error).startswith("--set")
