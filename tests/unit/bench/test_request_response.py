"""The bench's round trips: sockperf's words."""

import pytest

from bench.request_response import (
    PeerFailed,
    RoundTrip,
    parse_sockperf,
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
