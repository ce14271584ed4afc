"""The bench's round trips: sockperf's words, and vtax's own numbers on a path of namespaces."""

from pathlib import Path

import pytest

from bench.ends import made_ends
from bench.request_response import (
    PROTOCOLS,
    SECONDS,
    WARMUP_S,
    PeerFailed,
    RoundTrip,
    our_round,
    parse_sockperf,
    responder,
)

TOLD = """
sockperf: [Valid Duration] RunTime=1.551 sec; SentMessages=13065; ReceivedMessages=13065
sockperf: ====> avg-rtt=118.626 (std-dev=464.929)
sockperf: # dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0
sockperf: Summary: Round trip is 118.626 usec
sockperf: ---> percentile 75.000 =   51.259
sockperf: ---> percentile 50.000 =   47.186
"""


def test_sockperf_is_read() -> None:
    assert parse_sockperf(TOLD) == RoundTrip(118_626.0, 47_186.0)


def test_half_round_trips_are_refused() -> None:
    with pytest.raises(PeerFailed, match="no round trip"):
        parse_sockperf(TOLD.replace("Round trip", "Latency"))


@pytest.mark.system
@pytest.mark.usefixtures("leaves_nothing")
def test_a_round_measures_what_fits_into_its_time(tmp_path: Path) -> None:
    with made_ends(tmp_path) as ends:
        for protocol in PROTOCOLS:
            with responder(ends, protocol, 64):
                trip = our_round(ends.near)
                found = ends.near.agent.call("requester.collect")
            latency = found["latency"]
            assert trip.mean_ns == latency["mean_ns"]
            assert latency["min_ns"] <= trip.p50_ns * 1.001
            # One at a time: all round trips together last no longer than the round.
            assert 0 < latency["count"] * trip.mean_ns <= (SECONDS - WARMUP_S) * 1e9 + latency["max_ns"]
