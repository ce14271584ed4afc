"""Scenario files: those that come with vtax, and how a user's own is refused."""

from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vtax.inputs import InputError
from vtax.scenario import Scenario, list_scenarios, load_scenario
from vtax.workloads.forwarding.keys import Forwarding

MINIMAL = """\
name: own
title: A title
question: What?
workload:
  kind: forwarding
factors:
  platform: [raw]
repetitions: 2
figures: []
"""


def write(directory: Path, text: str) -> str:
    path = directory / "own.yaml"
    path.write_text(text)
    return str(path)


def refusal(directory: Path, text: str) -> str:
    with pytest.raises(InputError) as caught:
        load_scenario(write(directory, text))
    return str(caught.value).replace(f"{directory}/", "")


def test_the_scenarios_that_come_with_vtax() -> None:
    sizes = {summary.name: (summary.cells, summary.trials) for summary in list_scenarios()}
    assert sizes["quick"] == (24, 72)
    assert sizes["schlosser2011/dedicated"] == (432, 3888)
    for name in sizes:
        assert load_scenario(name).name == name


def test_schlosser2011_dedicated_is_the_papers_experiment() -> None:
    cells = load_scenario("schlosser2011/dedicated").cells()
    assert cells[0].key == "platform=raw streams=1 frame_bytes=64 intended_mbps=10"
    assert cells[-1].key == "platform=qemu-e1000 streams=3 frame_bytes=1500 intended_mbps=max"
    assert cells[-1].of(Forwarding).intended_mbps is None
    assert cells[-1].factors["intended_mbps"] is None
    assert cells[-1].plot == "platform=qemu-e1000"
    assert {cell.testbed.link_mbps for cell in cells} == {1000}
    assert all(cell.testbed.flow_control for cell in cells)


def test_defaults(tmp_path: Path) -> None:
    (cell,) = load_scenario(write(tmp_path, MINIMAL)).cells()
    assert cell.key == cell.plot == "platform=raw"
    assert cell.of(Forwarding).streams == 1
    assert cell.of(Forwarding).intended_mbps is None
    assert cell.testbed.link_mbps is None
    assert cell.platform_overrides == {}


def test_an_unknown_name_is_refused_in_a_short_line() -> None:
    with pytest.raises(
        InputError, match=r'no scenario "quik"; did you mean "quick"\? vtax list scenarios prints them all'
    ) as refused:
        load_scenario("quik")
    assert len(str(refused.value)) < 2 * 80
    with pytest.raises(InputError, match=r'did you mean "schlosser2011/dedicated"\?'):
        load_scenario("dedicatd")
    with pytest.raises(InputError, match=r'did you mean "anhalt2009/sending"\?'):
        load_scenario("anhalt2009/sendign")
    with pytest.raises(InputError, match="cannot be read"):
        load_scenario("none.yaml")
    with pytest.raises(InputError, match="no scenario"):
        load_scenario("../scenarios/quick")


def changed(old: str, new: str) -> str:
    assert old in MINIMAL
    return MINIMAL.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("title", "titel", 'own.yaml:2: titel: unknown key "titel"; did you mean "title"?'),
        ("kind: forwarding", "kind: forwarding\n  duration: 5", "own.yaml:6: workload.duration: unknown key"),
        ("kind: forwarding", "kind: forwarding\n  duration_s: 5s", '"5s" is not a number of seconds'),
        (
            "kind: forwarding",
            "kind: forwarding\n  duration_s: 0.01",
            "0.01 is too small; allowed: 0.1 to 3600",
        ),
        ("kind: forwarding", "kind: forwarding\n  intended_mbps: fast", '"fast" is not a number of Mbit/s'),
        ("kind: forwarding", "kind: forwarding\n  intended_mbps: ~", "null is not a number of Mbit/s"),
        ("kind: forwarding", "kind: forwarding\n  intended_mbps: 0", "0 is too small; allowed: more than 0"),
        (
            "kind: forwarding",
            "kind: forwarding\n  frame_bytes: 1515",
            "own.yaml:6: workload.frame_bytes: 1515 does not fit a link of mtu 1500; allowed: 64 to 1514",
        ),
        ("kind: forwarding", "kind: bridging", '"bridging" is not allowed; allowed: forwarding'),
        (
            "[raw]",
            "[raw]\n  frame_bytes:\n    - 64\n    - 63",
            "own.yaml:10: factors.frame_bytes: 63 is too small",
        ),
        (
            "[raw]",
            "[raw]\n  frame_bytes: [64]\n  mtu: [68, 1500]\n  workload.frame_bytes: [65]",
            "own.yaml:10: factors.workload.frame_bytes: the same factor as frame_bytes",
        ),
        (
            "[raw]",
            "[raw]\n  frame_bytes: [1500, 64]\n  mtu: [1500, 68]",
            "own.yaml:8: factors.frame_bytes: 1500 does not fit a link of mtu 68",
        ),
        ("[raw]", "[raw]\n  streams: [1, 9]", "own.yaml:8: factors.streams: 9 is too large; allowed: 1 to 8"),
        ("[raw]", "[raw]\n  streams: [1, 1]", "factors.streams: 1 is in the list twice"),
        ("[raw]", "[raw]\n  intended_mbps: [10, 10.0]", "10 is in the list twice"),
        ("[raw]", "[raw]\n  streams: []", "factors.streams: the list is empty"),
        ("[raw]", "[raw]\n  streams: 2", "factors.streams: 2 is not a list"),
        ("[raw]", "[raw]\n  stream: [2]", 'unknown factor "stream"; did you mean "streams"?'),
        ("[raw]", "[raw]\n  vcpus: [[1]]", "a list is not a plain value"),
        ("[raw]", "[1]", "1 is not the name of a platform preset"),
        ("platform: [raw]", "streams: [1]", "own.yaml:6: factors: platform is missing"),
        ("repetitions: 2", "repetitions: 0", "own.yaml:8: repetitions: 0 is too small; allowed: 1 to 1000"),
        ("repetitions: 2", "", 'key "repetitions" is missing: trials of every cell; allowed: 1 to 1000'),
        ("name: own", "name: ../../etc", '"../../etc" is not such a name'),
        (
            "figures: []",
            "platform: {vcpus: {a: 1}}",
            "own.yaml:9: platform.vcpus: a mapping is not a plain value",
        ),
        (
            "figures: []",
            "source: {paper: x, section: 3.3}",
            "source.section: 3.3 is not text; put it in quotes",
        ),
        ("figures: []", "testbed: {mtu: 67}", "testbed.mtu: 67 is too small; allowed: 68 to 9000"),
        ("figures: []", "testbed: {flow_control: on}", '"on" is neither true nor false'),
        ("figures: []", "streams: 3", 'unknown key "streams"; did you mean "workload.streams"?'),
    ],
)
def test_what_is_refused_and_where(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert said in refusal(tmp_path, changed(old, new))


def test_a_grid_beyond_bounds(tmp_path: Path) -> None:
    loads = list(range(1, 1002))
    factors = f"[raw]\n  intended_mbps: {loads}"
    assert len(load_scenario(write(tmp_path, changed("[raw]", factors))).cells()) == 1001
    more = factors + f"\n  platform.x: {list(range(100))}"
    said = "own.yaml:6: factors: the grid has 100100 cells; allowed: at most 100000"
    assert said in refusal(tmp_path, changed("[raw]", more))


def test_platform_keys_reach_the_cells(tmp_path: Path) -> None:
    text = (
        changed("[raw]", "[raw]\n  vcpus: [1, 2]\n  platform.queue: [a b]")
        + "platform: {memory_bytes: 99, vcpus: 8}"
    )
    cells = load_scenario(write(tmp_path, text)).cells()
    assert [cell.platform_overrides["vcpus"] for cell in cells] == [1, 2]
    assert cells[0].platform_overrides == {"memory_bytes": 99, "vcpus": 1, "queue": "a b"}
    assert cells[0].plot == cells[0].key == 'platform=raw vcpus=1 platform.queue="a b"'


def test_errors_of_later_checks_point_into_the_file(tmp_path: Path) -> None:
    scenario = load_scenario(write(tmp_path, changed("[raw]", "[raw,\n    rwa]") + "platform: {vcpus: 8}"))
    assert scenario.where("factors", "platform", 1).endswith("own.yaml:8")
    assert ":8: factors.platform: unknown" in str(scenario.error("platform", "rwa", "unknown"))
    assert ":11: platform.vcpus: too many" in str(scenario.error("vcpus", 8, "too many"))


def test_an_unknown_figure(tmp_path: Path) -> None:
    scenario = load_scenario(write(tmp_path, changed("figures: []", "figures: [throughput-by-lod]")))
    with pytest.raises(
        InputError, match=r'own\.yaml:9: figures: no figure .*did you mean "throughput-by-load"\?'
    ):
        scenario.check_figures(["throughput-by-load", "loss-by-load"])


JSON_LIKE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
PATHS = """
    name workload workload.kind workload.frame_bytes workload.intended_mbps testbed testbed.mtu
    testbed.link_mbps platform platform.vcpus factors factors.streams factors.mtu factors.platform
    factors.platform/x repetitions figures source source.section other
"""


def parts(path: str) -> list[str]:
    return [part.replace("/", ".") for part in path.split(".")]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(PATHS.split()).map(parts), JSON_LIKE), min_size=1, max_size=3))
def test_no_value_anywhere_breaks_the_loader(tmp_path: Path, changes: list[tuple[list[str], object]]) -> None:
    data = yaml.safe_load(MINIMAL)
    for path, value in changes:
        parent = data
        for part in path[:-1]:
            if not isinstance(parent.get(part), dict):
                parent[part] = {}
            parent = parent[part]
        parent[path[-1]] = value
    try:
        scenario = load_scenario(write(tmp_path, yaml.safe_dump(data)))
    except InputError as error:
        assert "own.yaml" in str(error)
    else:
        assert Scenario.from_resolved(scenario.resolved()).cells() == scenario.cells()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(MINIMAL)), st.integers(0, 20), st.text(max_size=12))
def test_no_edit_of_the_text_breaks_the_loader(tmp_path: Path, at: int, cut: int, new: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_bytes((MINIMAL[:at] + new + MINIMAL[at + cut :]).encode("utf-8", "replace"))
    try:
        load_scenario(str(path))
    except InputError as error:
        assert "own.yaml" in str(error)
