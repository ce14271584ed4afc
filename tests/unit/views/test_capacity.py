"""Throughput within a loss goal: the loads that were measured bracket it, and losses of the machine decide nothing."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import FRAMES_SENT, Made, held
from vtax.model.bound import Bound, Limit
from vtax.model.catalogue import Chapter
from vtax.model.cell import Cell
from vtax.model.frames import LIMITS, READING, FrameLevels
from vtax.model.levels import Setting
from vtax.model.table import text_of
from vtax.views.capacity import NDR, PDR, RING_FRAMES, Capacity, capacities
from vtax.views.capacity_tables import capacity_table
from vtax.views.contents import report_tables
from vtax.views.summary import Summary, summarise
from vtax.views.tables import throughput_table
from vtax.views.tax_tables import tax_of_capacity

FRAME = 1 / FRAMES_SENT
"""The share that one frame of a trial is."""


def load(mbps: float | None, *lost: float, offered: float | None = None, **made: Any) -> list[Made]:
    """A load that lost these shares of its frames, a repetition each."""
    rate = offered or mbps or 900.0
    return [
        Made(block=block, received_mbps=rate * (1 - share), offered_mbps=rate, intended_mbps=mbps, **made)
        for block, share in enumerate(lost)
    ]


def summary_of(directory: Path, *loads: list[Made]) -> Summary:
    return summarise(make(directory / "r", [made for each in loads for made in each]))


def goals(summary: Summary, platform: str = "raw") -> tuple[Capacity, Capacity]:
    pdr, ndr = (each for each in summary.loads.capacities if each.platform == platform)
    assert (pdr.goal, ndr.goal) == ("PDR", "NDR")
    return pdr, ndr


def at(found: Capacity) -> tuple[float | None, float | None]:
    """The load that carried most within the goal, and the least beyond it."""
    return (found.maximum.intended_mbps if found.maximum else None), found.less_than_mbps


def test_each_goal_ends_at_the_first_load_that_lost_too_much(tmp_path: Path) -> None:
    pdr, ndr = goals(
        summary_of(
            tmp_path,
            load(100.0, 0.0, 0.0, 0.0),
            load(200.0, 0.0, 0.0, FRAME),
            load(400.0, 0.004, 0.005, 0.003),
            load(800.0, 0.006, 0.006, 0.007),
            load(None, 0.4, 0.5, 0.45),
        )
    )
    assert at(pdr) == (400, 800)
    assert at(ndr) == (100, 200)
    assert (ndr.frames_lost, ndr.frames_sent) == (0, 3 * FRAMES_SENT)
    assert (pdr.frames_lost, pdr.limit) == (120, Limit.OFFERED)
    assert pdr.received_mbps is not None and pdr.received_mbps.bound is Bound.AT_LEAST
    assert pdr.received_fps is not None
    assert pdr.received_fps.value == pytest.approx(pdr.received_mbps.value * 1e6 / 8 / 88)


@pytest.mark.parametrize(("lost", "within"), [((0.0, 0.0, 0.014), True), ((0.0, 0.0, 0.016), False)])
def test_the_mean_of_the_repetitions_is_within_the_partial_drop_rate(
    lost: tuple[float, ...], within: bool, tmp_path: Path
) -> None:
    """The rule of an overload too, so that no cell is both."""
    summary = summary_of(tmp_path, load(100.0, *lost))
    pdr, ndr = goals(summary)
    assert at(pdr) == ((100, None) if within else (None, 100))
    assert at(ndr) == (None, 100)
    (row,) = (row for section in throughput_table(summary).sections for row in section.rows)
    assert (text_of(row[-1]) == "overload") is not within


def test_what_was_lost_before_a_shared_uplink_is_not_the_platforms(tmp_path: Path) -> None:
    marks = ("link-limited", "uplink-limited")
    summary = summary_of(tmp_path, load(100.0, 0.0, 0.0), load(None, 0.5, 0.5, offered=1800.0, marks=marks))
    pdr, _ = goals(summary)
    assert (at(pdr), pdr.limit) == ((None, None), Limit.LINK)
    text = summary.sentences[0].text
    assert text.startswith("carries at least 900.0 Mbit/s") and ", at the link's rate (" in text
    assert "overload" not in {
        text_of(row[-1]) for section in throughput_table(summary).sections for row in section.rows
    }


def test_a_load_that_happened_to_pass_above_one_that_did_not_counts_for_nothing(tmp_path: Path) -> None:
    pdr, _ = goals(summary_of(tmp_path, load(100.0, 0.0), load(200.0, 0.1), load(400.0, 0.0)))
    assert at(pdr) == (100, 200)


def test_what_a_platform_held_back_is_its_own_and_no_bound(tmp_path: Path) -> None:
    summary = summary_of(tmp_path, load(100.0, 0.0, 0.0), held([250.0, 254.0]))
    pdr, ndr = goals(summary)
    assert pdr.received_mbps is not None and pdr.received_mbps.bound is Bound.EXACT
    assert (at(pdr), pdr.limit, pdr.is_bracketed) == ((None, None), None, False)
    assert pdr.received_mbps.value == pytest.approx(252)
    (row,) = (row for section in capacity_table(summary).sections for row in section.rows)
    assert [text_of(cell) for cell in row] == [
        "raw",
        "both",
        "252.0",
        "357,955",
        "–",
        "2",
        "0%",
        "the platform",
    ]
    assert ndr.maximum is not None and ndr.maximum.received_mbps == pdr.received_mbps
    assert (ndr.frames_lost, ndr.frames_sent) == (0, 20_000)


def test_a_flood_that_lost_most_is_an_overload_and_no_headline(tmp_path: Path) -> None:
    lossy = {"platform": "container"}
    summary = summary_of(
        tmp_path,
        held([800.0, 804.0]),
        load(100.0, 0.0, 0.0),
        load(100.0, 0.0, 0.0, **lossy),
        load(400.0, 0.5, 0.5, **lossy),
        load(None, 0.85, 0.85, **lossy),
    )
    text = next(each.text for each in summary.sentences if each.platform == "container")
    assert text.startswith(
        "carries at least 50.1% fewer 64-byte frames than raw at no more than 0.5% loss (95%"
    )
    assert "n = 2; container lost more at 400.0 Mbit/s)" in text
    (change,) = summary.loads.changes
    assert change.change_percent is not None and change.change_percent.bound is Bound.AT_MOST
    assert change.change_percent.value == pytest.approx((400 / 802 - 1) * 100, abs=0.01)
    (row,) = (row for section in tax_of_capacity(summary).sections for row in section.rows)
    assert text_of(row[4]) == "≥100.0"
    names = [table.name for table in report_tables(summary, Chapter.TAX)]
    assert names[:2] == ["capacity", "tax-capacity"]


def test_a_platform_whose_least_load_lost_too_much_has_an_upper_bound_alone(tmp_path: Path) -> None:
    summary = summary_of(
        tmp_path, held([800.0, 804.0]), load(100.0, 0.9, 0.9, platform="container"), load(100.0, 0.0, 0.0)
    )
    (change,) = summary.loads.changes
    assert change.change_percent is not None and change.change_percent.bound is Bound.AT_MOST
    assert change.change_percent.value == pytest.approx((100 / 802 - 1) * 100, abs=0.01)
    (row,) = (row for section in tax_of_capacity(summary).sections for row in section.rows)
    assert text_of(row[4]) == "<100.0"


def test_a_platform_that_carried_no_load_is_no_gain(tmp_path: Path) -> None:
    """Its only load lies above what the reference carried: that says nothing of it."""
    summary = summary_of(tmp_path, held([254.0, 255.0]), load(None, 0.97, 0.97, platform="container"))
    (change,) = summary.loads.changes
    assert change.change_percent is None
    assert change.problem == "container lost more at 900.0 Mbit/s"
    text = next(each.text for each in summary.sentences if each.platform == "container")
    assert text.startswith("carries less than 900.0 Mbit/s of 64-byte frames at no more than 0.5% loss; ")
    assert "cannot be compared with raw: container lost more at 900.0 Mbit/s" in text


def test_a_reference_that_lost_more_bounds_a_gain_from_below(tmp_path: Path) -> None:
    summary = summary_of(
        tmp_path,
        load(100.0, 0.0, 0.0),
        load(400.0, 0.2, 0.2),
        load(400.0, 0.0, 0.0, platform="container"),
        load(800.0, 0.0, 0.0, platform="container"),
    )
    (change,) = summary.loads.changes
    assert change.change_percent is not None and change.change_percent.bound is Bound.AT_LEAST
    assert change.change_percent.value == pytest.approx(100)
    assert change.bounded_by == "container at the load offered and raw lost more at 400.0 Mbit/s"


def test_two_platforms_apart_by_a_load_differ(tmp_path: Path) -> None:
    """One lost too much of the load that the other carried: the cost is shown, though it may be next to none."""
    summary = summary_of(
        tmp_path,
        load(400.0, 0.0, 0.0),
        load(800.0, 0.2, 0.2),
        load(100.0, 0.0, 0.0, platform="container"),
        load(400.0, 0.2, 0.2, platform="container"),
    )
    (change,) = summary.loads.changes
    assert change.change_percent is not None and change.change_percent.bound is Bound.AT_MOST
    assert change.change_percent.value == pytest.approx(0, abs=0.01)


def test_a_load_that_was_offered_less_than_was_carried_is_no_bound(tmp_path: Path) -> None:
    """A source that is held back may offer less at a higher load."""
    summary = summary_of(
        tmp_path, load(400.0, 0.0, 0.0), load(None, 0.01, 0.01, offered=380.0, marks=("backpressured",))
    )
    pdr, _ = goals(summary)
    assert at(pdr) == (400, None)
    assert pdr.received_mbps is not None and pdr.received_mbps.bound is Bound.AT_LEAST


def test_no_loss_is_said_only_where_no_lower_load_lost_any(tmp_path: Path) -> None:
    summary = summary_of(tmp_path, load(100.0, 0.0), load(200.0, FRAME), load(400.0, 0.0))
    assert summary.sentences[0].text.startswith(
        "carries at least 400.0 Mbit/s (568,182 frames/s) of 64-byte frames at no more than 0.5% loss, at the load"
    )
    pdr, ndr = goals(summary)
    assert (at(pdr), at(ndr)) == ((400, None), (100, 200))


def test_a_platform_that_carried_nothing_alone_says_so(tmp_path: Path) -> None:
    summary = summary_of(tmp_path, load(100.0, 0.9, 0.9), load(400.0, 0.99, 0.99))
    assert summary.sentences[0].text.startswith(
        "carries less than 100.0 Mbit/s of 64-byte frames at no more than 0.5% loss; "
    )


def test_between_two_loads_the_sentence_has_both(tmp_path: Path) -> None:
    summary = summary_of(tmp_path, load(100.0, 0.0, 0.0), load(400.0, 0.2, 0.2))
    assert summary.sentences[0].text.startswith(
        "carries between 100.0 and 400.0 Mbit/s of 64-byte frames at no more than 0.5% loss ("
    )


FPS = 100e6 / 8 / 88
"""Frames of 64 bytes a second at 100 Mbit/s."""
RING_NS = RING_FRAMES / FPS * 1e9


def paused(mbps: float, lost: Sequence[float], pauses_ns: Sequence[float | None]) -> list[Made]:
    """A load while the machine paused for so long in each repetition."""
    made = load(mbps, *lost)
    return [replace(each, uut_longest_pause_ns=pause) for each, pause in zip(made, pauses_ns, strict=True)]


@pytest.mark.parametrize(
    ("lost", "pauses_ns", "undecided"),
    [
        ([0.0, FRAME], [0.0, 1.1 * RING_NS], True),
        ([0.0, FRAME], [1.1 * RING_NS, 0.9 * RING_NS], False),
        ([FRAME, FRAME], [1.1 * RING_NS, 0.9 * RING_NS], False),
        ([FRAME, FRAME], [1.1 * RING_NS, 2 * RING_NS], True),
        ([0.0] * 9 + [0.03], [0.0] * 9 + [1.95e6], False),
        ([0.0] * 9 + [0.027], [0.0] * 9 + [1.95e6], True),
        ([0.0, FRAME], [None, None], False),
    ],
    ids=["paused", "elsewhere", "one", "both", "more than came", "as many as came", "not watched"],
)
def test_losses_while_the_machine_paused_for_longer_than_a_ring_holds_bound_no_ndr(
    lost: list[float], pauses_ns: list[float | None], undecided: bool, tmp_path: Path
) -> None:
    """256 frames are 1.8 ms at this rate, and in 1.95 ms 277 come: those any platform may lose."""
    loads = load(50.0, 0.0, 0.0), paused(100.0, lost, pauses_ns), load(200.0, 0.2, 0.2)
    pdr, ndr = goals(summary_of(tmp_path, *loads))
    assert (ndr.undecided is not None) is undecided
    assert at(ndr) == (50, 200 if undecided else 100)
    assert pdr.undecided is None and at(pdr) == (100, 200)


def test_an_overload_is_one_however_long_the_machine_paused(tmp_path: Path) -> None:
    loads = load(50.0, 0.0, 0.0), paused(100.0, [0.9, 0.9], [1e9, 1e9])
    pdr, ndr = goals(summary_of(tmp_path, *loads))
    assert at(pdr) == at(ndr) == (50, 100)
    assert ndr.undecided is None


def test_a_pause_is_said_with_its_length(tmp_path: Path) -> None:
    _, ndr = goals(summary_of(tmp_path, paused(100.0, [0.0, FRAME], [9e6, 5e6])))
    assert ndr.undecided == "the machine paused for up to 5.0 ms, and 256 frames wait in a queue"


def cell(lost: Sequence[float], level: float) -> Cell:
    """A cell whose repetitions lost these shares."""
    blocks = range(len(lost))
    return Cell(
        key=f"{level:g}",
        platform="raw",
        setting=Setting(FrameLevels(64, 1, None)),
        level=level,
        uut_context="own",
        recorded=len(lost),
        invalid=0,
        suspect=0,
        marks={},
        blocks=blocks,
        columns={
            "offered_mbps": [level for _ in blocks],
            "received_mbps": [level * (1 - share) for share in lost],
            "loss_ratio": [*lost],
            "limits": [LIMITS.index(Limit.OFFERED if share <= PDR.loss_ratio else None) for share in lost],
        },
        reading=READING,
    )


LOSSES = st.lists(st.sampled_from([0.0, FRAME, 0.004, 0.2]), min_size=1, max_size=4)


@given(st.lists(LOSSES, min_size=1, max_size=5))
def test_a_goal_that_allows_less_is_never_met_at_a_higher_load(losses: list[list[float]]) -> None:
    cells = [cell(lost, 100.0 * (place + 1)) for place, lost in enumerate(losses)]
    pdr, ndr = capacities(cells, {})
    assert (PDR.loss_ratio, NDR.loss_ratio) == (0.005, 0.0)
    if ndr.maximum:
        assert pdr.maximum is not None
        assert not any(ndr.maximum.cell.values("loss_ratio"))
    for found in (pdr, ndr):
        if found.beyond and found.maximum:
            assert found.less_than_mbps is not None
            assert found.maximum.received_mbps.value < found.less_than_mbps
