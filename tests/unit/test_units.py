"""Layer-1 arithmetic against the numbers of the papers and of RFC 2544."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtax import units

RATES = st.floats(min_value=1e-3, max_value=1e6)
SIZES = st.integers(min_value=64, max_value=9014)


def test_a_full_gigabit_of_the_smallest_rfc_2544_frame() -> None:
    """RFC 2544 counts the FCS: its 64-byte frame is frame_bytes 60, 1,488,095 a second at 1 Gbit/s."""
    assert units.fps(1000, 60) == pytest.approx(1_488_095.24)


def test_the_packets_of_anhalt2009() -> None:
    """81,284 IP packets of 1500 bytes a second are 1000.1 Mbit/s at layer 1 and 957.2 of UDP payload."""
    assert units.mbps(81_284, 1514) == pytest.approx(1000.1, abs=0.05)
    assert units.goodput_mbps(81_284, 1514) == pytest.approx(957.2, abs=0.05)


def test_the_delay_formula_of_schlosser2011() -> None:
    """8000 (s + 24) / b ns: 64 bytes at 1000 Mbit/s leave every 704 ns."""
    assert units.gap_ns(1000, 64) == 704


@given(RATES, SIZES)
def test_frames_and_bits_are_two_ways_to_say_the_same(rate: float, size: int) -> None:
    frames = units.fps(rate, size)
    assert units.mbps(frames, size) == pytest.approx(rate)
    assert units.gap_ns(rate, size) == pytest.approx(1e9 / frames)
    assert units.goodput_mbps(frames, size) < rate
