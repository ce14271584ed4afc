"""campaign.json as somebody left it: what can be read is shown, the rest is named, and nothing breaks."""

import io
import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import blocks
from vtax import views
from vtax.campaign import Resumed
from vtax.inputs import InputError
from vtax.results import Result
from vtax.results.mending import mend
from vtax.results.stored import StoredCampaign
from vtax.scenario import list_scenarios, load_scenario
from vtax.views.claims.readings import CLAIMS
from vtax.views.compare import compare, read_side

VALUES: list[Any] = [None, True, 7, "text", [], [1, None], {}, {"a": 1}, [[]], {"raw": "x"}]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return make(
        tmp_path_factory.mktemp("edited") / "result",
        blocks([90.0, 91.0]),
        hosts={"local": {"cpus": 2}},
        ceilings=[{"load": "flood", "ceiling_fps": 1.0}],
        testbed={"name": "local"},
        created_at="2026-01-01T00:00:00+00:00",
        scenario={"workload": {"kind": "forwarding"}, "testbed": {"link_mbps": 1000.0}, "question": "?"},
    )


def edited(result: Result, path: tuple[str, ...], value: Any) -> Result:
    content = json.loads((result.directory / "campaign.json").read_text())
    node = content
    for name in path[:-1]:
        node = node[name]
    node[path[-1]] = value
    (result.directory / "campaign.json").write_text(json.dumps(content))
    return Result.open(result.directory)


@pytest.fixture
def restored(result: Result) -> Any:
    path = result.directory / "campaign.json"
    content = path.read_bytes()
    yield result
    path.write_bytes(content)


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        "scenario",
        "scenario.workload",
        "scenario.workload.kind",
        "scenario.factors",
        "scenario.factors.platform",
        "scenario.repetitions",
        "scenario.figures",
        "platforms",
        "platforms.raw",
        "hosts",
        "hosts.local",
        "testbed",
        "ceilings",
        "command",
        "seed",
    ],
)
def test_a_key_of_another_shape_is_named_and_all_else_is_shown(path: str, restored: Result) -> None:
    found = edited(
        restored, tuple(path.split(".")), 7 if path not in ("seed", "scenario.repetitions") else "x"
    )
    assert any(path in problem for problem in found.damaged), found.damaged
    out = io.StringIO()
    views.show(found, Console(file=out, width=100))
    assert "90.5" in out.getvalue()
    views.write_report(found)
    json.dumps(views.as_json(found), allow_nan=False)
    side = read_side(found)
    assert compare(side, replace(side, identity=("another campaign",)), within=0.05).changes


def test_a_kind_of_workload_that_nobody_knows_is_refused_by_its_name(restored: Result) -> None:
    found = edited(restored, ("scenario", "workload", "kind"), "teleport\x1b[2J")
    with pytest.raises(
        InputError,
        match=r'of kind "teleport\\x1b\[2J", which this vtax does not know \(it knows forwarding, ',
    ):
        views.show(found, Console(file=io.StringIO()))
    # One such result among others is left out.
    assert "does not know" in (CLAIMS.refusal(found) or "")


@settings(max_examples=60)
@given(data=st.data())
def test_any_edit_leaves_a_campaign_that_can_be_mended(result: Result, data: st.DataObject) -> None:
    """Any keys replaced by any values: mended once, nothing is left to mend."""
    campaign: dict[str, Any] = json.loads((result.directory / "campaign.json").read_text())
    for _ in range(data.draw(st.integers(1, 4))):
        node: Any = campaign
        while True:
            name = data.draw(st.sampled_from(sorted(node)))
            if isinstance(node[name], dict) and node[name] and data.draw(st.booleans()):
                node = node[name]
                continue
            # A copy: the next edit may go inside it.
            node[name] = deepcopy(data.draw(st.sampled_from(VALUES)))
            break
    mend(campaign)
    assert mend(campaign) == []


@pytest.mark.parametrize("edit", [{"factors": None, "scenario": None}, {"factors": [7]}])
def test_a_result_is_opened_whatever_its_factors_are(edit: dict[str, Any], restored: Result) -> None:
    path = restored.directory / "campaign.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **edit}))
    assert Result.open(restored.directory).tables["trials"].num_rows == restored.tables["trials"].num_rows


def of_another_shape(hint: Any) -> Iterator[Any]:
    """Values in each of which one thing has another type than `hint` says."""
    kinds = [kind for kind in get_args(hint) if kind is not NoneType]
    if is_typeddict(hint):
        yield 7
        for name, inner in get_type_hints(hint).items():
            yield from ({name: value} for value in of_another_shape(inner))
    elif get_origin(hint) is dict:
        yield 7
        yield from ({"a": value} for value in of_another_shape(kinds[1]))
    elif get_origin(hint) is list:
        yield 7
        yield from ([value] for value in of_another_shape(kinds[0]))
    elif hint in {str, int}:
        yield []
    elif NoneType in get_args(hint):
        yield from of_another_shape(kinds[0])


def test_what_the_types_of_a_stored_campaign_say_is_mended_where_it_is_not_so() -> None:
    campaigns = list(of_another_shape(StoredCampaign))[1:]
    assert len(campaigns) > 30
    for campaign in campaigns:
        assert len(mend(campaign)) == 1, campaign


def test_a_campaign_without_its_scenario_does_not_go_on(restored: Result) -> None:
    edited(restored, ("scenario",), 7)
    with pytest.raises(
        InputError, match=r"campaign.json: scenario cannot be read, without which no campaign goes on"
    ):
        Resumed.read(restored.directory)


def test_no_scenario_that_comes_with_vtax_is_taken_for_an_edited_one() -> None:
    for summary in list_scenarios():
        assert mend({"scenario": load_scenario(summary.name).resolved()}) == [], summary.name
