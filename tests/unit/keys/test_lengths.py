"""Lengths of frames: what a mix may be, the order it is sent in, and what is counted of it."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.trials import change_received, make_cell, make_measured, record, sink_cost
from vtax.inputs import InputError
from vtax.keys.lengths import IMIX, Lengths, interleaved, lengths_of, shares
from vtax.scenario import load_scenario
from vtax.units import OVERHEAD_BYTES
from vtax.workloads.forwarding.keys import Forwarding
from vtax.workloads.forwarding.measure.rows import Instrument

QUICK = load_scenario("quick")
PARTS = st.lists(st.tuples(st.integers(1, 30), st.integers(64, 1514)), min_size=2, max_size=7)


def test_imix_goes_round_in_the_order_that_is_documented() -> None:
    assert lengths_of("imix") == lengths_of(IMIX)
    assert lengths_of("imix").cycle == (64, 590, 64, 64, 590, 64, 1514, 64, 590, 64, 590, 64)


@given(PARTS)
def test_shares_are_exact_over_a_cycle_and_near_at_any_time(parts: list[tuple[int, int]]) -> None:
    cycle = interleaved([(count, at) for at, (count, _) in enumerate(parts)])
    total = sum(count for count, _ in parts)
    assert len(cycle) == total
    for at, (count, _) in enumerate(parts):
        assert cycle.count(at) == count
        for sent in range(1, total + 1):
            assert abs(cycle[:sent].count(at) - Fraction(sent * count, total)) < len(parts)


@given(st.lists(st.integers(64, 9014), min_size=1, max_size=50), st.integers(0, 1000))
def test_bytes_are_those_of_the_frames_one_by_one(cycle: list[int], frames: int) -> None:
    lengths = Lengths(tuple(cycle))
    assert lengths.bytes_of(frames) == sum(cycle[number % len(cycle)] for number in range(frames))
    assert lengths.mean * len(cycle) == pytest.approx(lengths.bytes_of(len(cycle)))


def test_a_mix_in_lower_terms_is_the_same() -> None:
    assert shares("14:64 8:590 2:1514") == shares(IMIX)


@pytest.mark.parametrize(
    ("mix", "problem"),
    [
        ("7:64", "is a mix of 1; allowed: 2 to 7 shares with spaces between, as in 7:64 4:590 1:1514"),
        (" ".join(f"1:{size}" for size in range(64, 72)), "is a mix of 8"),
        ("1:64 2:64", "has a length twice"),
        ("1:64 x:70", '"x:70" is no share of a mix; allowed: COUNT:BYTES'),
        ("0:64 1:70", '"0:64" is no share'),
        ("1:64 1024:70", "repeats after 1025 frames; allowed: after 1024 at most"),
        ("1:63 1:70", "is too small; allowed: 64 to"),
        ("1:64 1:9019", "is too large"),
        ("1:64 1:1515", "1515 does not fit a link of mtu 1500"),
        ("imax", "is not a whole number of bytes; allowed: 64 to"),
    ],
)
def test_what_is_no_mix_is_refused_in_words(mix: str, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        QUICK.override(sets=[f"frame_bytes={mix}", "intended_mbps=10"])
    assert problem in str(refused.value)


def test_a_mix_is_a_level_beside_lengths() -> None:
    cells = QUICK.override(["raw"], ["frame_bytes=64,imix,3:64 1:1514", "intended_mbps=max"]).cells()
    assert [cell.key for cell in cells] == [
        "platform=raw frame_bytes=64",
        "platform=raw frame_bytes=imix",
        'platform=raw frame_bytes="3:64 1:1514"',
    ]
    assert [cell.factors["frame_bytes"] for cell in cells] == [64, None, None]
    assert [cell.of(Forwarding).mix for cell in cells] == [None, "imix", "3:64 1:1514"]


def test_a_train_takes_no_mix() -> None:
    with pytest.raises(InputError, match="a train has frames of one length and flow; allowed"):
        QUICK.override(sets=["frame_bytes=imix", "workload.mechanism=gso"])


def test_the_intended_load_is_met_by_the_mean_frame() -> None:
    work = Forwarding.model_validate({"kind": "forwarding", "frame_bytes": "imix", "intended_mbps": 100})
    wire_bits = 8 * sum(length + OVERHEAD_BYTES for length in work.frame_load.lengths.cycle) / 12
    assert work.frame_load.intended_fps == pytest.approx(100e6 / wire_bits)


def test_throughput_counts_the_bytes_that_arrived() -> None:
    measured = make_measured(make_cell(frame_bytes="3:64 1:1514", intended_mbps=100.0))
    sent = measured.source.streams[0].phase().frames_sent
    # The UUT loses every long frame.
    change_received(measured, received=sent // 4 * 3, received_bytes=sent // 4 * 3 * 64)
    instrument = Instrument(ceiling_fps=1e6, sink_costs={"sink": sink_cost(50.0)})
    rows = record(measured, {}, instrument, "local")
    assert (rows.trial["frame_bytes"], rows.trial["frame_mix"]) == (None, "3:64 1:1514")
    (flow,) = rows.flows
    assert flow["offered_mbps"] == pytest.approx(100, rel=1e-3)
    assert flow["received_mbps"] == pytest.approx(sent // 4 * 3 * 88 * 8 / 1e6)
    assert flow["goodput_mbps"] == pytest.approx(sent // 4 * 3 * 22 * 8 / 1e6)
    assert flow["loss_ratio"] == pytest.approx(0.25, abs=1e-3)
