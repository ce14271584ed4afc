"""Two levels by turns: the order of quads, when cells and campaigns end, and that a killed one goes on alike."""

import textwrap
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from vtax.campaign.blocks import chosen_blocks
from vtax.campaign.mode import mode_of
from vtax.campaign.plan import counterpart, plan_of
from vtax.campaign.state import CampaignState, Trial
from vtax.campaign.turns import LEAST_QUADS, Turns, check_levels
from vtax.inputs import Document, InputError
from vtax.keys.cell import Cell
from vtax.model.rule_progress import RuleProgress
from vtax.scenario import Scenario

TURNS = """
name: own/turns
title: a
question: b
workload: {kind: forwarding, warmup_s: 0, duration_s: 1}
testbed: {link_mbps: 1000}
ab: {by: platform, fail_on: "throughput<-5%"}
factors: {platform: [raw, container], frame_bytes: [64, 1500], streams: [1, 3], intended_mbps: [10, max]}
repetitions: 40
"""
WITHIN_A_GUEST = TURNS.replace("by: platform", "by: frame_bytes")
SEEDS = st.integers(0, 2**31)


def scenario(text: str = TURNS) -> Scenario:
    return Scenario.from_document(Document(Path("own.yaml"), yaml.safe_load(textwrap.dedent(text))))


@given(SEEDS, st.integers(0, 40), st.sampled_from([(TURNS, "platform"), (WITHIN_A_GUEST, "frame_bytes")]))
def test_a_quad_is_a_b_b_a_or_the_other_way_round(seed: int, quad: int, of: tuple[str, str]) -> None:
    chosen, factor = scenario(of[0]), of[1]
    first, second = (plan_of(chosen)(chosen.cells(), seed, block) for block in (2 * quad, 2 * quad + 1))
    assert sorted(cell.key for group in first for cell in group.cells) == sorted(
        cell.key for cell in chosen.cells()
    )
    for place in range(0, len(first), 2):
        levels = [
            {cell.factors[factor] for cell in group.cells}
            for groups in (first, second)
            for group in groups[place : place + 2]
        ]
        assert all(len(level) == 1 for level in levels)
        one, other, again, last = (level.pop() for level in levels)
        assert one == last and other == again and one != other
    for one_side, other_side in zip(first[::2], first[1::2], strict=True):
        assert [counterpart(cell, factor) for cell in one_side.cells] == [
            counterpart(cell, factor) for cell in other_side.cells
        ]


def test_either_level_comes_first() -> None:
    chosen = scenario()
    first = [plan_of(chosen)(chosen.cells(), 1, block)[0].cells[0].platform for block in range(0, 40, 2)]
    assert set(first) == {"raw", "container"}


def test_a_cell_without_its_other_level_is_left_out() -> None:
    chosen = scenario()
    cells = [cell for cell in chosen.cells() if (cell.platform, cell.streams) != ("container", 3)]
    planned = [cell for group in plan_of(chosen)(cells, 1, 0) for cell in group.cells]
    assert {cell.streams for cell in planned} == {1}


class Judge:
    """Stands in for a referee: a cell is decided once it has so many quads; keeps what it was asked and told."""

    def __init__(self, decided_after: dict[str, int], committed: list[Trial]) -> None:
        self.decided_after, self.committed = decided_after, committed
        self.looks: list[int] = []
        self.told: list[str] = []

    def standing(self, text: str) -> None:
        self.told.append(text)

    def judge(self, blocks: int) -> RuleProgress:
        self.looks.append(blocks)
        quads: dict[str, int] = {}
        for trial in self.committed:
            if trial.block < blocks and trial.usable:
                quads[trial.place] = quads.get(trial.place, 0) + trial.block % 2
        open_cells = frozenset(place for place in quads if quads[place] < self.decided_after[place])
        return RuleProgress(len(quads) - len(open_cells), len(quads), open_cells, tuple(sorted(open_cells)))


class Clock:
    """A clock that stands still but for what trials take."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


def carry_out(
    chosen: Scenario, decided_after: dict[str, int], before: list[Trial], wall_s: float = 1.5
) -> Iterator[Trial]:
    """As the runner does, from the trials that are committed."""
    cells, committed, clock = chosen.cells(), [*before], Clock()
    assert chosen.file.ab is not None
    mode = Turns(chosen.file.ab, cells, Judge(decided_after, committed), clock)
    state = CampaignState(before)
    for block in range(chosen.repetitions):
        if mode.ended(block, state):
            return
        for group in plan_of(chosen)(cells, 1, block):
            for cell in group.cells:
                while (wanted := mode.next(block, cell, state)) is not None:
                    trial = measure(state.last_trial + 1, block, wanted, wall_s)
                    state.add(trial)
                    committed.append(trial)
                    clock.now_s += wall_s
                    yield trial


def measure(number: int, block: int, cell: Cell, wall_s: float) -> Trial:
    return Trial(
        number=number, block=block, place=cell.place, usable=number % 7 > 0, wall_s=wall_s, received_mbps=10.0
    )


DECIDED = {cell.key: 3 + 2 * (cell.streams == 3) for cell in scenario().cells()}


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_a_campaign_goes_on_from_any_trial_as_it_would_have(data: st.DataObject) -> None:
    whole = list(carry_out(scenario(), DECIDED, []))
    killed_after = data.draw(st.integers(0, len(whole)))
    assert whole[:killed_after] + list(carry_out(scenario(), DECIDED, whole[:killed_after])) == whole


def test_decided_cells_take_no_part_in_later_quads() -> None:
    made = [trial for trial in carry_out(scenario(), DECIDED, []) if trial.usable]
    quads = {
        place: len({trial.block // 2 for trial in trials})
        for place, trials in groupby(sorted(made, key=lambda trial: trial.place), lambda trial: trial.place)
    }
    assert quads == DECIDED


def test_a_quad_that_has_begun_is_finished_and_none_begins_that_would_end_too_late() -> None:
    never = dict.fromkeys(DECIDED, 99)
    quad_s = sum(trial.wall_s for trial in carry_out(scenario(), never, []) if trial.block < 2)
    short = scenario(TURNS.replace('5%"}', f'5%", budget_s: {3.5 * quad_s}}}'))
    made = list(carry_out(short, never, []))
    assert {trial.block for trial in made} == {0, 1, 2, 3, 4, 5}
    least = scenario(TURNS.replace('5%"}', '5%", budget_s: 0.1}'))
    assert {trial.block for trial in carry_out(least, never, [])} == {0, 1}


def test_calibration_is_no_quad() -> None:
    """It takes half of the budget, and the first quad little."""
    chosen, clock = scenario(TURNS.replace('5%"}', '5%", budget_s: 60}')), Clock()
    assert chosen.file.ab is not None
    cells, state = chosen.cells(), CampaignState()
    mode = Turns(chosen.file.ab, cells, Judge({}, []), clock)
    assert not mode.ended(0, state) and mode.next(0, cells[0], state)
    clock.now_s += 35
    assert not mode.ended(0, state) and mode.next(0, cells[0], state)
    for block in (0, 1):
        clock.now_s += 1
        state.add(measure(block + 1, block, cells[0], 1.0))
    assert not mode.ended(2, state)
    clock.now_s += 30
    assert mode.ended(2, state)


def test_a_resumed_quad_is_finished_whatever_was_spent() -> None:
    short = scenario(TURNS.replace('5%"}', '5%", budget_s: 1}'))
    assert short.file.ab is not None
    state = CampaignState([measure(1, 2, short.cells()[0], 100.0)])
    mode = Turns(short.file.ab, short.cells(), Judge({}, []), Clock())
    assert not mode.ended(2, state) and not mode.ended(3, state)
    assert mode.ended(4, state)


@pytest.mark.parametrize(
    ("text", "emulated", "refused"),
    [
        (TURNS, ("container",), True),
        (TURNS, ("raw", "container"), False),
        (TURNS, (), False),
        (WITHIN_A_GUEST, ("container",), False),
    ],
)
def test_levels_of_which_one_alone_is_emulated_are_refused(
    text: str, emulated: tuple[str, ...], refused: bool
) -> None:
    chosen = scenario(text)
    platforms = SimpleNamespace(probe_of=lambda cell: SimpleNamespace(emulated=cell.platform in emulated))
    if not refused:
        check_levels(chosen, chosen.cells(), platforms)
        return
    with pytest.raises(
        InputError, match="platform=container has an emulated CPU here and platform=raw has not"
    ):
        check_levels(chosen, chosen.cells(), platforms)


def test_it_is_judged_once_a_quad_from_the_third_on_and_told_where_a_quad_begins() -> None:
    committed: list[Trial] = []
    chosen = scenario()
    referee = Judge(DECIDED, committed)
    assert chosen.file.ab is not None
    mode, state = Turns(chosen.file.ab, chosen.cells(), referee, Clock()), CampaignState()
    for block in range(8):
        mode.ended(block, state)
        for cell in chosen.cells():
            mode.next(block, cell, state)
    assert referee.looks == [2 * LEAST_QUADS]
    assert referee.told == ["3 quads: 0 of 0 rules on cells decided"]


@pytest.mark.parametrize(
    ("budget", "left"), [("", ""), (", budget_s: 1800", "; 30 min left"), (", budget_s: 60", "; 60 s left")]
)
def test_open_cells_are_named_behind_what_is_left_of_the_budget(budget: str, left: str) -> None:
    chosen = scenario(TURNS.replace('5%"}', f'5%"{budget}}}'))
    assert chosen.file.ab is not None
    names = tuple(f"streams={count}" for count in range(1, 6))
    referee = Judge({}, [])
    referee.judge = lambda blocks: RuleProgress(1, 6, frozenset(names), names)  # type: ignore[method-assign]
    mode = Turns(chosen.file.ab, chosen.cells(), referee, Clock())
    mode.ended(2 * LEAST_QUADS, CampaignState())
    open_cells = "open: streams=1, streams=2, streams=3 and 2 more"
    assert referee.told == [f"3 quads: 1 of 6 rules on cells decided{left}; {open_cells}"]


def test_without_a_referee_nothing_is_measured() -> None:
    mode = mode_of(scenario(), scenario().cells())
    assert mode.ended(0, CampaignState())
    assert mode.next(0, scenario().cells()[0], CampaignState()) is None


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("by: platform", "by: mtu", "mtu is no factor of this scenario; name two, as in mtu: [A, B]"),
        ("by: platform", "by: platfrom", 'did you mean "platform"?'),
        ('5%"}', '5%", fixed: true, budget_s: 9}', "leave out budget_s, or fixed"),
        ("[raw, container]", "[raw, container, lxc]", "platform has raw, container, lxc; name two"),
        ("repetitions: 40", "repetitions: 41", "41 is odd, and a quad takes two blocks"),
        ("ab:", "precision: {relative_width: 0.1}\nab:", "precision and ab are modes of their own"),
        ("warmup_s: 0", "warmup_s: 0, trace: stages", "the values that this mode goes by"),
    ],
)
def test_what_cannot_be_measured_by_turns_is_refused(old: str, new: str, says: str) -> None:
    with pytest.raises(InputError) as refused:
        scenario(TURNS.replace(old, new))
    assert says in str(refused.value)


def test_a_fixed_number_is_measured_whole_and_by_turns() -> None:
    chosen = scenario(TURNS.replace('5%"}', '5%", fixed: true}').replace("40", "4"))
    mode, state, committed = mode_of(chosen, chosen.cells()), CampaignState(), []
    for block in range(chosen.repetitions):
        assert not mode.ended(block, state)
        for group in plan_of(chosen)(chosen.cells(), 1, block):
            for cell in group.cells:
                wanted = mode.next(block, cell, state)
                assert wanted is not None
                trial = measure(8, block, wanted, 1.0)
                state.add(trial)
                committed.append(trial)
    assert len(committed) == chosen.trials == 4 * len(chosen.cells())


def test_one_quad_is_no_fixed_number() -> None:
    with pytest.raises(InputError, match="2 is too small; allowed: at least 4"):
        scenario(TURNS.replace('5%"}', '5%", fixed: true}').replace("repetitions: 40", "repetitions: 2"))


@pytest.mark.parametrize("end", ['5%"}', '5%", fixed: true}'])
def test_single_blocks_are_refused_since_two_are_one_value(end: str) -> None:
    with pytest.raises(
        InputError, match="ab goes by all trials of a cell, and separate blocks do not have them"
    ):
        chosen_blocks(scenario(TURNS.replace('5%"}', end)), [0, 1])


def test_the_options_make_a_scenario_by_turns() -> None:
    plain = scenario(TURNS.replace('ab: {by: platform, fail_on: "throughput<-5%"}\n', ""))
    made = plain.by_turns("streams=1,3", "loss>+1pp", 1000, 90.0)
    assert made.file.ab is not None
    assert (made.file.ab.by, made.file.ab.fail_on, made.file.ab.budget_s) == ("streams", "loss>+1pp", 90.0)
    assert made.trials is None and made.repetitions == 1000
    with pytest.raises(InputError, match="name two, as in --factor platform=raw,container"):
        plain.by_turns("platform=raw", "loss>+1pp", 1000, 90.0)
    with pytest.raises(InputError, match='--factor frame_bites=1,2: unknown factor "frame_bites"'):
        plain.by_turns("frame_bites=1,2", "loss>+1pp", 1000, 90.0)
    searching = TURNS.replace('ab: {by: platform, fail_on: "throughput<-5%"}', "search: {}")
    with pytest.raises(InputError, match="name a scenario without search"):
        scenario(searching.replace(", intended_mbps: [10, max]", "")).by_turns(
            "streams=1,3", "loss>+1pp", 2, 90.0
        )
    with pytest.raises(InputError, match="streams is already set by --set streams=2"):
        plain.override(sets=["streams=2"]).by_turns("streams=1,3", "loss>+1pp", 1000, 90.0)
    with pytest.raises(InputError, match="platform is already set by --platform lxc,raw"):
        plain.override(["lxc", "raw"]).by_turns("platform=raw,container", "loss>+1pp", 1000, 90.0)
