"""The bench's round trips: vtax's own numbers on a path of namespaces."""

from pathlib import Path

import pytest

from bench.ends import made_ends
from bench.request_response import (
    PROTOCOLS,
    SECONDS,
    WARMUP_S,
    our_round,
    responder,
)

pytestmark = pytest.mark.system


@pytest.mark.usefixtures("leaves_nothing")
def test_a_round_measures_what_fits_into_its_time(tmp_path: Path) -> None:
    with made_ends(tmp_path) as ends:
        for protocol in PROTOCOLS:
            with responder(ends, protocol, 64):
                trip = our_round(ends.near)
                found = ends.near.agent.api.requester_collect()
            latency = found.latency
            assert trip.mean_ns == latency.mean_ns
            assert latency.min_ns is not None and latency.max_ns is not None
            assert latency.min_ns <= trip.p50_ns * 1.001
            # One at a time: all round trips together last no longer than the round.
            assert 0 < latency.count * trip.mean_ns <= (SECONDS - WARMUP_S) * 1e9 + latency.max_ns
