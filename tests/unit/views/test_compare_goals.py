"""Several loads together: PDR, NDR and maximum as metrics of a comparison and of a history."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.helpers.comparisons import again, command, compare_results
from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import Made, held
from vtax.inputs import InputError
from vtax.model.bound import Bound
from vtax.results import Result
from vtax.views.compare import ChangeVerdict, Outcome, compare, parse_rules
from vtax.views.compare.changes import CellChange
from vtax.views.compare.levels import open_levels
from vtax.views.history import read_history

NOISE = (0.0, 0.3, -0.2, 0.1, -0.3, 0.2)


def loads(
    directory: Path, flood: float, *, lost_at_400: float = 0.0, platforms: Sequence[str] = ("raw",)
) -> Result:
    """Two loads, of which the larger may be lost in part, and a flood that the platform holds back."""
    carried = {100.0: 100.0, 400.0: 400.0 * (1 - lost_at_400)}
    trials = [
        Made(name, block, received_mbps=mbps, offered_mbps=offered, intended_mbps=offered)
        for name in platforms
        for offered, mbps in carried.items()
        for block in range(len(NOISE))
    ]
    for name in platforms:
        trials += held([flood + noise for noise in NOISE], platform=name)
    return make(directory, trials)


def of_loads(changes: Sequence[CellChange]) -> dict[str, CellChange]:
    return {
        change.metric.name: change for change in changes if change.metric.name in ("pdr", "ndr", "maximum")
    }


def test_what_is_carried_within_the_goals_is_compared(tmp_path: Path) -> None:
    """The flood of B carries a tenth less, and nothing is lost: it is PDR, NDR and maximum of both."""
    compared = compare_results(loads(tmp_path / "a", 600.0), loads(tmp_path / "b", 540.0), within=0.05)
    found = of_loads(compared.changes)
    assert [*found] == ["pdr", "ndr", "maximum"]
    for change in found.values():
        assert change.cell == "platform=raw"
        assert change.verdict is ChangeVerdict.WORSE
        assert change.change is not None and change.change.value == pytest.approx(-0.1, abs=0.002)
    assert compared.only_in_a == compared.only_in_b == []


def test_a_load_that_loses_more_than_the_goal_bounds_it_from_above(tmp_path: Path) -> None:
    """B loses a hundredth of 400 Mbit/s: its PDR is at least 100 and less than 400, where A carries 600."""
    a, b = loads(tmp_path / "a", 600.0), loads(tmp_path / "b", 600.0, lost_at_400=0.01)
    found = of_loads(compare_results(a, b, within=0.05).changes)
    pdr = found["pdr"]
    assert pdr.before is not None and pdr.before.value == pytest.approx(600, abs=0.1)
    assert pdr.after is not None and pdr.after.value == pytest.approx(100)
    assert pdr.after.bound is Bound.AT_LEAST
    assert pdr.change is not None and pdr.change.bound is Bound.AT_MOST
    assert pdr.change.value == pytest.approx(400 / 600 - 1, abs=0.001)
    assert (pdr.verdict, pdr.bounded_by) == (ChangeVerdict.WORSE, "B lost more at 400.0 Mbit/s")
    assert found["maximum"].verdict is ChangeVerdict.SAME
    back = of_loads(compare_results(b, a, within=0.05).changes)["pdr"]
    assert back.change is not None and back.change.bound is Bound.AT_LEAST
    assert back.change.value == pytest.approx(600 / 400 - 1, abs=0.002)
    assert (back.verdict, back.bounded_by) == (ChangeVerdict.BETTER, "A lost more at 400.0 Mbit/s")


def test_what_a_platform_held_back_at_a_stated_load_is_no_bound(tmp_path: Path) -> None:
    """A load that lost too much tells nothing more of a PDR that is known."""

    def campaign(name: str, carried: float, beyond: float) -> Result:
        trials = held([carried + noise for noise in NOISE], intended_mbps=400.0)
        trials += [
            Made(block=block, received_mbps=carried / 2, offered_mbps=beyond, intended_mbps=800.0)
            for block in range(len(NOISE))
        ]
        return make(tmp_path / name, trials)

    found = of_loads(
        compare_results(campaign("a", 390.0, 700.0), campaign("b", 200.0, 380.0), within=0.05).changes
    )
    pdr = found["pdr"]
    assert pdr.change is not None and pdr.change.bound is Bound.EXACT
    assert pdr.change.value == pytest.approx(200 / 390 - 1, abs=0.002)
    assert pdr.verdict is ChangeVerdict.WORSE


def test_one_trial_beyond_the_goal_bounds_nothing(tmp_path: Path) -> None:
    a, b = stated(tmp_path / "a", 0, 0, 0, 0.5), tmp_path / "b"
    trials = [
        Made(block=block, received_mbps=mbps * share, offered_mbps=mbps, intended_mbps=mbps)
        for mbps, share, blocks in ((100.0, 1.0, 4), (200.0, 0.5, 1), (400.0, 0.3, 4), (800.0, 0.1, 4))
        for block in range(blocks)
    ]
    pdr = of_loads(compare_results(a, make(b, trials), within=0.05).changes)["pdr"]
    assert (pdr.change, pdr.note) == (None, "withheld: both at the load offered")


def stated(directory: Path, *lost: float) -> Result:
    """Loads of 100, 200, 400 and 800 Mbit/s that lost these shares."""
    trials = [
        Made(block=block, received_mbps=mbps * (1 - share), offered_mbps=mbps, intended_mbps=mbps)
        for mbps, share in zip((100.0, 200.0, 400.0, 800.0), lost, strict=True)
        for block in range(4)
    ]
    return make(directory, trials)


@pytest.mark.parametrize(
    ("before", "after", "verdict", "note"),
    [
        ((0, 0, 0, 0.5), (0, 0.1, 0.5, 0.8), ChangeVerdict.WORSE, "B lost more at 200.0 Mbit/s"),
        ((0, 0.1, 0.5, 0.8), (0, 0, 0, 0.5), ChangeVerdict.BETTER, "A lost more at 200.0 Mbit/s"),
        ((0, 0, 0, 0.5), (0, 0, 0.1, 0.5), ChangeVerdict.UNKNOWN, "withheld: both at the load offered"),
        ((0, 0, 0, 0.5), (0.1, 0.5, 0.8, 0.9), ChangeVerdict.WORSE, "B lost more at 100.0 Mbit/s"),
        ((0.1, 0.5, 0.8, 0.9), (0.1, 0.5, 0.8, 0.9), ChangeVerdict.UNKNOWN, None),
    ],
)
def test_stated_loads_tell_what_lies_between_them(
    tmp_path: Path,
    before: tuple[float, ...],
    after: tuple[float, ...],
    verdict: ChangeVerdict,
    note: str | None,
) -> None:
    """Of neighbouring loads nothing is told: the PDR of both may be the same."""
    a, b = stated(tmp_path / "a", *before), stated(tmp_path / "b", *after)
    found = of_loads(compare_results(a, b, within=0.05).changes).get("pdr")
    if note is None:
        assert found is None
        return
    assert found is not None
    assert found.verdict is verdict
    assert note in (found.note, found.bounded_by)


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [("pdr<-5%", Outcome.BROKEN), ("ndr<-20%", Outcome.PASSED), ("maximum<-5%", Outcome.BROKEN)],
)
def test_a_rule_is_judged_on_loads_together_alone(tmp_path: Path, rule: str, outcome: Outcome) -> None:
    a, b = (
        loads(tmp_path / name, mbps, platforms=("raw", "lxc")) for name, mbps in (("a", 600.0), ("b", 540.0))
    )
    judged = compare_results(a, b, within=0.05, rules=parse_rules(rule)).judged
    assert [(one.cell, one.outcome) for one in judged] == [
        (f"platform={name}", outcome) for name in ("lxc", "raw")
    ]


def test_a_rule_on_each_load_is_not_judged_on_loads_together(tmp_path: Path) -> None:
    a, b = loads(tmp_path / "a", 600.0), loads(tmp_path / "b", 540.0)
    judged = compare_results(a, b, within=0.05, rules=parse_rules("throughput<-5%")).judged
    assert {one.cell.rpartition(" ")[2] for one in judged} == {
        "intended_mbps=100",
        "intended_mbps=400",
        "intended_mbps=max",
    }


def test_a_platform_that_one_side_lacks_leaves_the_rule_undecided(tmp_path: Path) -> None:
    a, b = loads(tmp_path / "a", 600.0, platforms=("raw", "lxc")), loads(tmp_path / "b", 600.0)
    compared = compare_results(a, b, within=0.05, rules=parse_rules("pdr<-5%"), allow=("settings",))
    assert {one.cell: (one.outcome, one.reason) for one in compared.judged} == {
        "platform=raw": (Outcome.PASSED, ""),
        "platform=lxc": (Outcome.UNDECIDED, "not measured at several loads in B"),
    }
    assert len(compared.only_in_a) == 3


@pytest.mark.parametrize("sides", [("b",), ("a", "b")])
def test_a_load_without_a_usable_trial_leaves_the_rule_undecided(
    tmp_path: Path, sides: tuple[str, ...]
) -> None:
    """Another load would be the largest of those that are left: nothing changed, and the maximum would."""

    def campaign(name: str) -> Result:
        trials = [
            Made(
                platform,
                block,
                received_mbps=mbps,
                offered_mbps=mbps,
                intended_mbps=mbps,
                verdict="invalid" if (platform, mbps) == ("lxc", 500.0) and name in sides else "valid",
            )
            for platform in ("raw", "lxc")
            for mbps in (300.0, 400.0, 500.0)
            for block in range(4)
        ]
        return make(tmp_path / name, trials)

    rules = parse_rules("maximum<-5%")
    compared = compare_results(campaign("a"), campaign("b"), within=0.05, rules=rules)
    (lxc,) = (one for one in compared.judged if one.cell == "platform=lxc")
    assert lxc.outcome is Outcome.UNDECIDED
    assert lxc.reason == ", ".join(
        f"no CPU context with a usable trial at each load in {name.upper()}" for name in sides
    )


def test_other_loads_are_not_compared(tmp_path: Path) -> None:
    a, b = loads(tmp_path / "a", 600.0), tmp_path / "b"
    trials = [
        Made(block=block, received_mbps=mbps, offered_mbps=mbps, intended_mbps=mbps)
        for mbps in (100.0, 200.0)
        for block in range(4)
    ]
    compared = compare_results(
        a, make(b, trials), within=0.05, rules=parse_rules("pdr<-5%"), allow=("settings",)
    )
    assert not of_loads(compared.changes)
    assert [(one.cell, one.outcome, one.reason) for one in compared.judged] == [
        ("platform=raw", Outcome.UNDECIDED, "measured at other loads in B")
    ]


def test_of_one_load_nothing_is_taken_together(tmp_path: Path) -> None:
    a, b = (
        make(
            tmp_path / name,
            [Made(block=block, received_mbps=90.0 + noise) for block, noise in enumerate(NOISE)],
        )
        for name in ("a", "b")
    )
    assert not of_loads(compare_results(a, b, within=0.05).changes)
    with pytest.raises(
        InputError, match=r"pdr is of several loads, and here each cell has one; name another"
    ):
        compare_results(a, b, within=0.05, rules=parse_rules("pdr<-5%"))


def test_levels_of_one_campaign_have_no_loads_together(tmp_path: Path) -> None:
    """The load that is picked may be another one for each level, so that blocks pair nothing."""
    result = loads(tmp_path / "a", 600.0, platforms=("raw", "lxc"))
    sides = open_levels(result.directory, "platform=raw,lxc")
    assert not {"pdr", "ndr", "maximum"} & {metric.name for metric in sides[0].metrics}
    with pytest.raises(InputError, match="pdr is compared between two campaigns with several loads each"):
        compare(*sides, within=0.05, rules=parse_rules("pdr<-5%"))


def test_a_history_has_a_series_of_each(tmp_path: Path) -> None:
    result, below = loads(tmp_path / "first", 600.0), tmp_path / "results"
    for day in range(1, 5):
        again(result, below / str(day), day)
    series = [
        one
        for experiment in read_history(below, 0.05).chapters
        for one in experiment.series
        if one.metric.name == "pdr"
    ]
    assert [(one.cell, len(one.points)) for one in series] == [("platform=raw", 4)]
    assert series[0].points[0].value.value == pytest.approx(600, abs=0.1)


def test_documents_have_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = loads(tmp_path / "a", 600.0), loads(tmp_path / "b", 540.0)
    assert command(a, b, "--json", "--fail-on", "pdr<-5%") == 4
    document = json.loads(capsys.readouterr().out)
    assert {"pdr", "ndr", "maximum"} <= {change["metric"] for change in document["changes"]}
