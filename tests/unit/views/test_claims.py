"""Findings of papers, planted true, planted false and too noisy to tell: what is said of each, and never more."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.judged import judged
from tests.helpers.results.builder import make, of
from tests.helpers.results.bulk import MadeBulk, bulk_blocks
from tests.helpers.results.forwarding import Made, blocks
from tests.helpers.results.papers import HARMED, LOST, STEADY, beside, forwarded
from tests.helpers.results.requests import MadeResponses
from tests.helpers.results.traced import MadeTrace
from vtax.statistics import Resolution
from vtax.views.claims import ClaimVerdict, counts, judge_results
from vtax.views.claims.checks import Bound, Ratio, Trend
from vtax.views.claims.judge import judge, verdict_of
from vtax.views.claims.sample import Sample

HOLDS, FAILS, UNDECIDED = ClaimVerdict.HOLDS, ClaimVerdict.FAILS, ClaimVerdict.UNDECIDED


NOISY = [100.0, 700.0, 250.0, 600.0, 300.0]


@pytest.mark.parametrize(("rates", "verdict"), [(HARMED, HOLDS), (STEADY, FAILS), (NOISY, UNDECIDED)])
def test_a_ratio(rates: list[float], verdict: ClaimVerdict, tmp_path: Path) -> None:
    result = forwarded(tmp_path / "r", beside("idle", STEADY), beside("forward", rates))
    found = judged(result, "small-frames-beside-harm")["container"]
    assert found.verdict is verdict
    assert found.decisive is not None
    estimate = found.decisive.estimate
    assert estimate.n == 5
    assert estimate.low is not None and estimate.high is not None
    assert (estimate.high < 0.95, estimate.low >= 0.95) == (verdict is HOLDS, verdict is FAILS)


SLOWER, FASTER = [120.0, 121.0, 119.0, 120.5], [80.0, 81.0, 79.0, 80.5]


@pytest.mark.parametrize(
    ("times_us", "verdict"), [(SLOWER, HOLDS), (FASTER, FAILS), ([50.0, 150.0, 90.0, 130.0], UNDECIDED)]
)
def test_a_difference(times_us: list[float], verdict: ClaimVerdict, tmp_path: Path) -> None:
    trials = [
        MadeResponses(block, time_us, platform=platform)
        for platform, times in (("raw", [100.0, 100.5, 99.5, 100.2]), ("container", times_us))
        for block, time_us in enumerate(times)
    ]
    found = judged(
        make(tmp_path / "r", trials, scenario=of("oljira2016", "response-time")),
        "guests-answer-later-than-hosts",
    )
    assert list(found) == ["container"], "the bare host is what it is compared with"
    assert found["container"].verdict is verdict
    if verdict is HOLDS:
        decisive = found["container"].decisive
        assert decisive is not None
        assert decisive.estimate.value == pytest.approx(20_075)


@pytest.mark.parametrize(
    ("goodputs", "verdict"),
    [
        ([[450, 451], [448, 450], [452, 450]], HOLDS),
        ([[800, 100], [790, 110], [810, 95]], FAILS),
        ([[450, 450], [800, 100], [450, 452]], UNDECIDED),
    ],
)
def test_a_bound(goodputs: list[list[float]], verdict: ClaimVerdict, tmp_path: Path) -> None:
    trials = bulk_blocks(goodputs, platform="container")
    found = judged(make(tmp_path / "r", trials, scenario=of("anhalt2009", "sending")), "senders-share-fairly")
    assert found["container"].verdict is verdict


@pytest.mark.parametrize(
    ("switch_us", "verdict"), [([900, 1000, 950], HOLDS), ([9, 10, 11], FAILS), ([1000, 10, 1000], UNDECIDED)]
)
def test_a_share_of_packets(switch_us: list[float], verdict: ClaimVerdict, tmp_path: Path) -> None:
    trials = [MadeTrace(block, each, guests=4) for block, each in enumerate(switch_us)]
    result = make(tmp_path / "r", trials, scenario=of("oljira2016", "breakdown-co-located"))
    assert judged(result, "four-guests-hold-most-packets-long")["container"].verdict is verdict


def test_an_emulated_cpu_is_said_and_never_compared_with_the_bare_host(tmp_path: Path) -> None:
    keys = of("oljira2016", "response-time")
    times = {"raw": 100, "qemu-virtio": 900}
    trials = [
        MadeResponses(block, mean_us + block / 10, platform=name, emulated=name != "raw")
        for name, mean_us in times.items()
        for block in range(4)
    ]
    result = make(tmp_path / "r", trials, scenario=keys)
    alone = judged(result, "short-requests-between-hosts-are-quick")["qemu-virtio"]
    assert (alone.verdict, alone.told) == (FAILS, "does not hold, emulated CPU")
    beside_raw = judged(result, "guests-answer-later-than-hosts")["qemu-virtio"]
    assert beside_raw.verdict is ClaimVerdict.UNMEASURED
    assert beside_raw.missing == ("an emulated CPU is compared only with emulated ones",)


def test_emulated_platforms_are_compared_with_each_other(tmp_path: Path) -> None:
    trials = [
        made
        for name, rates in (("qemu-virtio", STEADY), ("qemu-e1000", HARMED))
        for frame_bytes in (64, 500)
        for made in blocks(
            rates,
            platform=name,
            frame_bytes=frame_bytes,
            emulated=True,
            intended_mbps=None,
            offered_mbps=1000.0,
            marks=LOST,
        )
    ]
    found = judged(forwarded(tmp_path / "r", trials, scenario="dedicated"), "paravirtual-nic-beats-emulated")
    assert {name: each.told for name, each in found.items()} == {"qemu-virtio": "holds here, emulated CPU"}


def test_a_claim_is_about_its_group_alone(tmp_path: Path) -> None:
    kinds = {"raw": "raw", "lxc": "lxc", "qemu-virtio": "qemu"}
    platforms = {
        name: {"title": name, "kind": kind, "emulated": False, "skipped": None}
        for name, kind in kinds.items()
    }
    cells = [beside(behaviour, STEADY, name) for name in kinds for behaviour in ("none", "heavy")]
    result = forwarded(tmp_path / "r", *cells, scenario="neighbour-stress", platforms=platforms)
    assert list(judged(result, "heavy-load-slows-containers")) == ["lxc"]
    assert list(judged(result, "heavy-load-spares-machines")) == ["qemu-virtio"]
    assert list(judged(result, "idle-neighbour-costs-nothing")) == ["lxc", "qemu-virtio"]


def test_a_lower_bound_can_only_be_above(tmp_path: Path) -> None:
    """The generator set what the guest forwarded: it may forward more, never less."""
    limited = beside("forward", HARMED, marks=("generator-limited",), offered_mbps=201.0)
    full = blocks(
        [990.0, 991.0, 989.0],
        frame_bytes=1500,
        intended_mbps=None,
        offered_mbps=992.0,
        platform="container",
        marks=("generator-limited",),
    )
    result = forwarded(tmp_path / "r", beside("idle", STEADY), limited)
    found = judged(result, "small-frames-beside-harm")["container"]
    assert found.verdict is UNDECIDED
    assert found.decisive is not None
    assert found.decisive.estimate.high == float("inf")
    result = forwarded(tmp_path / "full", full, scenario="dedicated")
    assert judged(result, "full-frames-reach-the-link")["container"].verdict is HOLDS


def test_streams_with_a_busy_far_end_hold_no_upper_bound(tmp_path: Path) -> None:
    trials = [
        MadeBulk((goodput,), platform=platform, block=block, marks=marks)
        for platform, goodput, marks in (("raw", 900.0, ()), ("qemu-e1000", 300.0, ("far-end-busy",)))
        for block in range(4)
    ]
    result = make(tmp_path / "r", trials, scenario=of("anhalt2009", "sending"))
    assert judged(result, "emulated-nic-sends-a-third")["qemu-e1000"].verdict is UNDECIDED
    assert judged(result, "guests-send-what-the-host-can")["qemu-e1000"].verdict is UNDECIDED


def test_invalid_trials_are_out_and_suspect_ones_in(tmp_path: Path) -> None:
    invalid = [Made(**{**vars(made), "verdict": "invalid"}) for made in beside("forward", NOISY)]
    suspect = [Made(**{**vars(made), "verdict": "suspect"}) for made in beside("forward", HARMED)]
    result = forwarded(tmp_path / "r", beside("idle", STEADY), suspect, invalid)
    found = judged(result, "small-frames-beside-harm")["container"]
    assert found.verdict is HOLDS
    assert found.decisive is not None
    assert found.decisive.estimate.left_out == pytest.approx(5 / 15)


def test_values_that_decided_their_number_have_wider_intervals(tmp_path: Path) -> None:
    widths = []
    for name, precision in (("fixed", None), ("adaptive", {"relative_width": 0.02, "least": 3})):
        cells = beside("idle", 3 * STEADY), beside("forward", 3 * HARMED)
        result = forwarded(tmp_path / name, *cells, scenario_keys={"precision": precision})
        found = judged(result, "small-frames-beside-harm")["container"]
        assert found.verdict is HOLDS
        assert found.decisive is not None
        estimate = found.decisive.estimate
        assert estimate.low is not None and estimate.high is not None
        widths.append((estimate.high - estimate.low) / estimate.value)
    assert widths[1] > 1.5 * widths[0]


def test_one_repetition_decides_nothing(tmp_path: Path) -> None:
    result = forwarded(tmp_path / "r", beside("idle", STEADY[:1]), beside("forward", HARMED[:1]))
    assert judged(result, "small-frames-beside-harm")["container"].verdict is UNDECIDED


def test_what_no_cell_tells_was_not_measured(tmp_path: Path) -> None:
    result = forwarded(tmp_path / "r", beside("idle", STEADY))
    assert judged(result, "small-frames-beside-harm")["container"].verdict is ClaimVerdict.UNMEASURED
    claims = judge_results([result])
    (other,) = [each for each in claims.judged if each.claim.name == "idle-neighbour-costs-nothing"]
    assert (other.result, other.judgements) == (None, ())
    assert counts(claims.judged, emulated=False)[ClaimVerdict.UNMEASURED] == len(claims.judged)


BOUNDS = st.floats(-1e6, 1e6)
REGION = st.tuples(st.none() | BOUNDS, st.none() | BOUNDS).filter(
    lambda at: at != (None, None) and (None in at or at[0] < at[1])  # type: ignore[operator]
)


@given(st.lists(BOUNDS, min_size=2, max_size=2), REGION, st.floats(0, 1))
def test_nothing_holds_whose_interval_reaches_the_opposite(
    ends: list[float], region: tuple[float | None, float | None], where: float
) -> None:
    (low, high), (above, below) = sorted(ends), region
    inside = min(max(low + where * (high - low), low), high)
    is_as_claimed = (above is None or inside > above) and (below is None or inside < below)
    verdict = verdict_of(low, high, above, below)
    assert verdict is not (FAILS if is_as_claimed else HOLDS)
    assert verdict_of(None, None, above, below) is UNDECIDED


def sample(values: Sequence[float], **levels: str) -> Sample:
    return Sample(
        levels={"platform": "container", **levels},
        emulated=False,
        values=dict(enumerate(values)),
        recorded=len(values),
        invalid=0,
        resolution=Resolution(),
    )


VALUES = st.lists(st.floats(0.0, 1e4), min_size=1, max_size=6)


@given(VALUES, VALUES, st.floats(0.1, 10))
def test_no_ratio_holds_without_an_interval_beyond_the_claim(
    one: list[float], other: list[float], bound: float
) -> None:
    test = Ratio(kind="ratio", metric="goodput_mbps", of={"guests": 2}, over={"guests": 1}, above=bound)
    found = judge(test, "container", False, [sample(one, guests="2"), sample(other, guests="1")])
    if found.verdict in (HOLDS, FAILS):
        assert found.decisive is not None
        estimate = found.decisive.estimate
        assert estimate.low is not None and estimate.high is not None
        assert estimate.low > bound if found.verdict is HOLDS else estimate.high <= bound


def test_a_claim_on_its_edge_seldom_holds() -> None:
    """Two steps of a true ratio of exactly 1: in few of 500 campaigns is either called a rise, or a fall."""
    rng = np.random.default_rng(7)
    rises = Trend(kind="trend", metric="goodput_mbps", factor="guests", levels=[1, 2, 4], above=1)
    edge = Bound(kind="bound", metric="goodput_mbps", above=100)
    told: list[ClaimVerdict] = []
    for _ in range(500):
        samples = [sample(rng.normal(100, 2, 5).tolist(), guests=guests) for guests in ("1", "2", "4")]
        told.append(judge(rises, "container", False, samples).verdict)
        told.append(judge(edge, "container", False, samples[:1]).verdict)
    assert told.count(HOLDS) / len(told) < 0.03
    assert told.count(FAILS) / len(told) < 0.05
