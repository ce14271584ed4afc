"""Campaigns whose trials decide what comes next, on a simulated testbed: the same from any kill on, and they end."""

import math
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from vtax.campaign.mode import mode_of
from vtax.campaign.plan import plan_block
from vtax.campaign.state import ATTEMPTS, CampaignState, Trial
from vtax.inputs import Document, InputError, read_document
from vtax.keys.cell import Cell
from vtax.scenario import Scenario
from vtax.units import fps

PRECISION = """
name: own/precision
title: a
question: b
workload: {kind: forwarding, warmup_s: 0, duration_s: 1, frame_bytes: 1500}
testbed: {link_mbps: 1000}
precision: {relative_width: 0.02, of: throughput, least: 10}
factors: {platform: [raw, container], intended_mbps: [100, 500, 1000]}
repetitions: 60
"""
MAXIMUM = PRECISION.replace("of: throughput", "of: maximum")
SEARCH = """
name: own/search
title: a
question: b
workload: {kind: forwarding, warmup_s: 0, duration_s: 1, frame_bytes: 1500}
testbed: {link_mbps: 1000}
search: {goals: {NDR: 0, PDR: 0.005}, relative_width: 0.02, duration_sum_s: 5, most: 60}
factors: {platform: [raw, container]}
repetitions: 2
"""
CAPACITY_MBPS = {"raw": 900.0, "container": 420.0}
CV = {"raw": 0.002, "container": 0.01}

Measure = Callable[[int, int, Cell], Trial]


def scenario(text: str) -> Scenario:
    return Scenario.from_document(Document(Path("own.yaml"), yaml.safe_load(textwrap.dedent(text))))


def measure(number: int, block: int, cell: Cell) -> Trial:
    """A platform that carries what it is offered up to a capacity that varies; a function of the trial's number."""
    work = cell.frame_load
    assert work.intended_mbps is not None
    noise = 1 + CV[cell.platform] * np.random.default_rng(number).standard_normal()
    sent = round(fps(work.intended_mbps, work.lengths.mean) * work.duration_s)
    carried = round(fps(CAPACITY_MBPS[cell.platform] * noise, work.lengths.mean) * work.duration_s)
    received = min(sent, carried)
    return Trial(
        number=number,
        block=block,
        place=cell.place,
        usable=True,
        search=cell.search,
        step=cell.step,
        intended_mbps=work.intended_mbps,
        duration_s=work.duration_s,
        wall_s=1.5,
        frames_sent=sent,
        frames_received=received,
        received_mbps=work.intended_mbps * received / sent,
    )


def carry_out(chosen: Scenario, before: list[Trial], how: Measure = measure) -> Iterator[Trial]:
    """As the runner does, from the trials that are committed."""
    cells = chosen.cells()
    mode, state = mode_of(chosen, cells), CampaignState(before)
    for block in range(chosen.repetitions):
        if mode.ended(block, state):
            return
        for plot in plan_block(cells, 1, block):
            for cell in plot.cells:
                while (wanted := mode.next(block, cell, state)) is not None:
                    trial = how(state.last_trial + 1, block, wanted)
                    state.add(trial)
                    yield trial


@pytest.mark.parametrize(
    "text",
    [PRECISION, MAXIMUM, pytest.param(SEARCH, marks=pytest.mark.slow)],
    ids=["precision", "maximum", "search"],
)
@settings(max_examples=15)
@given(data=st.data())
def test_a_campaign_goes_on_from_any_trial_as_it_would_have(text: str, data: st.DataObject) -> None:
    whole = WHOLE.setdefault(text, list(carry_out(scenario(text), [])))
    killed_after = data.draw(st.integers(0, len(whole)))
    assert whole[:killed_after] + list(carry_out(scenario(text), whole[:killed_after])) == whole


WHOLE: dict[str, list[Trial]] = {}


def count(trials: list[Trial]) -> dict[str, int]:
    places = [trial.place for trial in trials]
    return {place: places.count(place) for place in places}


def test_cells_that_are_narrow_take_no_part_in_later_blocks() -> None:
    made = count(list(carry_out(scenario(PRECISION), [])))
    assert made["platform=raw intended_mbps=100"] == 10
    assert made["platform=container intended_mbps=100"] == 10
    assert 10 <= made["platform=container intended_mbps=500"] < 60


def test_for_a_maximum_loads_that_cannot_be_it_drop_out() -> None:
    made = count(list(carry_out(scenario(MAXIMUM), [])))
    assert made["platform=raw intended_mbps=100"] <= 4
    assert made["platform=raw intended_mbps=1000"] >= 4
    assert made["platform=container intended_mbps=500"] > made["platform=container intended_mbps=100"]


def steady(number: int, block: int, cell: Cell) -> Trial:
    """What is carried is the same each time."""
    return replace(measure(0, block, cell), number=number)


def test_equal_values_end_it_after_ten_and_not_below_their_step() -> None:
    enough = count(list(carry_out(scenario(PRECISION), [], steady)))
    assert set(enough.values()) == {10}
    below = PRECISION.replace("0.02", "0.0019").replace("repetitions: 60", "repetitions: 15")
    assert set(count(list(carry_out(scenario(below), [], steady))).values()) == {15}


def test_repetitions_that_are_like_the_one_before_are_more() -> None:
    def drifting(number: int, block: int, cell: Cell) -> Trial:
        noise = 1 + 0.01 * math.sin(block / 3)
        return replace(steady(number, block, cell), received_mbps=80 * noise)

    def jumping(number: int, block: int, cell: Cell) -> Trial:
        noise = 1 + 0.01 * (-1) ** block
        return replace(steady(number, block, cell), received_mbps=80 * noise)

    one = (
        PRECISION.replace("[100, 500, 1000]", "[100]")
        .replace("0.02", "0.03")
        .replace("raw, container", "raw")
    )
    (drifted,), (jumped,) = (
        count(list(carry_out(scenario(one), [], how))).values() for how in (drifting, jumping)
    )
    assert drifted > jumped


def test_a_load_that_collapsed_a_few_times_is_tried_ten_times_for_a_maximum() -> None:
    def collapsing(number: int, block: int, cell: Cell) -> Trial:
        trial = measure(number, block, cell)
        is_odd = cell.place == "platform=raw intended_mbps=1000" and block < 4
        return replace(trial, received_mbps=400.0 + block) if is_odd else trial

    made = count(list(carry_out(scenario(MAXIMUM), [], collapsing)))
    assert made["platform=raw intended_mbps=1000"] >= 10


def test_the_last_block_and_the_budget_end_it() -> None:
    wide = PRECISION.replace("0.02", "0.0001").replace("repetitions: 60", "repetitions: 11")
    made = count(list(carry_out(scenario(wide), [])))
    assert made["platform=container intended_mbps=500"] == 11
    short = wide.replace("least: 10", "least: 10, budget_s: 7.5")
    assert len(list(carry_out(scenario(short), []))) == 5


def test_what_has_no_usable_trial_is_given_up() -> None:
    def broken(number: int, block: int, cell: Cell) -> Trial:
        trial = measure(number, block, cell)
        return replace(trial, usable=cell.platform != "container")

    for text, tries in ((PRECISION, 3 * ATTEMPTS), (SEARCH, 2 * 10)):
        made = list(carry_out(scenario(text), [], broken))
        places = [trial.place for trial in made if "container" in trial.place]
        assert max(map(places.count, set(places))) == tries
        assert any(trial.usable for trial in made)


def test_an_invalid_trial_of_a_search_is_measured_again_at_its_load() -> None:
    def disturbed(number: int, block: int, cell: Cell) -> Trial:
        return replace(measure(number, block, cell), usable=number % 4 > 0)

    made = [trial for trial in carry_out(scenario(SEARCH), [], disturbed) if "raw" in trial.place]
    for earlier, later in pairwise(made):
        if not earlier.usable:
            assert (later.place, later.intended_mbps) == (earlier.place, earlier.intended_mbps)
    assert found(scenario(SEARCH), made)


def found(chosen: Scenario, trials: list[Trial]) -> list[dict[str, object]]:
    mode = mode_of(chosen, chosen.cells())
    return mode.found(0, chosen.cells()[0], CampaignState(trials))


@pytest.mark.parametrize("frame_bytes", ["1500", "imix"])
def test_the_bounds_stand_in_rows_when_the_search_has_ended(
    monkeypatch: pytest.MonkeyPatch, frame_bytes: str
) -> None:
    monkeypatch.setitem(CV, "raw", 0.0)
    text = SEARCH.replace("frame_bytes: 1500", f"frame_bytes: {frame_bytes}")
    chosen = scenario(text.replace("[raw, container]", "[raw]").replace("repetitions: 2", "repetitions: 1"))
    trials = list(carry_out(chosen, []))
    assert found(chosen, trials[:-1]) == []
    ndr, pdr = found(chosen, trials)
    assert (ndr["goal"], ndr["search"], ndr["trials"]) == ("NDR", "platform=raw", len(trials))
    assert ndr["lower_mbps"] <= 900 <= ndr["upper_mbps"]  # type: ignore[operator]
    assert pdr["bounded_by"] is None
    assert mode_of(chosen, chosen.cells()).measured(chosen.cells()[0], CampaignState(trials))
    assert not mode_of(chosen, chosen.cells()).measured(chosen.cells()[0], CampaignState(trials[:-1]))


@pytest.mark.parametrize("mark", ["generator-limited", "limit-unknown"])
def test_a_bound_that_the_generator_set_is_named(mark: str) -> None:
    def weak(number: int, block: int, cell: Cell) -> Trial:
        trial = measure(number, block, cell)
        sent = min(trial.frames_sent, round(fps(300.0, 1500) * trial.duration_s))
        short = sent < trial.frames_sent
        return replace(trial, frames_sent=sent, frames_received=sent, marks=(mark,) if short else ())

    chosen = scenario(SEARCH.replace("[raw, container]", "[raw]"))
    ndr, _ = found(chosen, [trial for trial in carry_out(chosen, [], weak) if trial.block == 0])
    assert ndr["lower_mbps"] <= 301.5 and ndr["bounded_by"] == mark  # type: ignore[operator]


@pytest.mark.parametrize(
    ("text", "old", "new", "said"),
    [
        (
            SEARCH,
            "platform: [raw, container]",
            "platform: [raw], intended_mbps: [1]",
            "a search finds the load",
        ),
        (SEARCH, "PDR: 0.005", "PDR: 0", "two goals have the same loss ratio"),
        (SEARCH, "link_mbps: 1000", "mtu: 1500", "the link is unlimited; name the largest load"),
        (SEARCH, "most: 60", "max_mbps: 1001", "1001 is too large; allowed: at most testbed.link_mbps, 1000"),
        (
            SEARCH,
            "most: 60",
            "min_mbps: 1000",
            "min_mbps: 1000 is too large; allowed: less than the largest load",
        ),
        (SEARCH, "NDR: 0,", "N R: 0,", '"N R" is not such a name'),
        (
            SEARCH,
            "repetitions: 2",
            "repetitions: 2\nprecision: {relative_width: 0.1}",
            "precision and search are modes of their own",
        ),
        (
            PRECISION,
            "least: 10",
            "least: 9",
            "own.yaml:7: precision.least: 9 is too small; allowed: 10 to 1000",
        ),
        (PRECISION, "least: 10", "least: 61", "60 is too small; allowed: at least precision.least, 61"),
        (MAXIMUM, "intended_mbps: [100, 500, 1000]", "streams: [1]", "needs a factor intended_mbps"),
        (PRECISION, "0.02", "0", "0 is too small; allowed: more than 0, at most 1"),
    ],
)
def test_what_contradicts_a_mode_is_refused(tmp_path: Path, text: str, old: str, new: str, said: str) -> None:
    assert old in text
    path = tmp_path / "own.yaml"
    path.write_text(text.replace(old, new))
    with pytest.raises(InputError, match=said.replace("(", r"\(")):
        Scenario.from_document(read_document(path))


def test_a_mode_is_kept_when_a_campaign_is_resumed() -> None:
    for text in (PRECISION, SEARCH):
        first = scenario(text)
        again = Scenario.from_resolved(first.resolved())
        assert (again.file, again.trials) == (first.file, None)
