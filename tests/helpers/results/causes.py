"""Forwarding in which something is the matter, for tests of the diagnosis."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import Made
from vtax.results import Result

SCATTER = (0.0, 0.01, -0.01, 0.005)
"""By which values differ from block to block, as a share."""


def repeated(trial: Made, scatter: Sequence[float] = SCATTER) -> list[Made]:
    """The trial in as many blocks, whose rates and delays differ a little."""
    return [
        replace(
            trial,
            block=block,
            received_mbps=trial.received_mbps * (1 + by),
            offered_mbps=trial.offered_mbps * (1 + by),
            delay_ns=None if trial.delay_ns is None else trial.delay_ns * (1 - by),
        )
        for block, by in enumerate(scatter)
    ]


def make_causes(directory: Path, *trials: Made, **campaign: Any) -> Result:
    """Each trial in four blocks, on a testbed of two CPUs, the second one the unit under test's."""
    testbed = {"name": "local", "cpus": {"agents": [0], "host": [1], "guests": [1]}}
    return make(
        directory, [each for trial in trials for each in repeated(trial)], testbed=testbed, **campaign
    )


CALM_RAW = Made(
    host="uut",
    sink_percent=None,
    threads=(("host", "ingress in0", 20.0, 0.0),),
    ledger=(("host", "ingress in0", 20.0), ("idle", "idle", 180.0)),
    drops=(),
)
"""Raw at a load that it carries in full, with time to spare."""
BUSY_RAW = replace(
    CALM_RAW,
    host_percent=100.0,
    threads=(("host", "ingress in0", 99.0, 1.0),),
    ledger=(("host", "ingress in0", 99.0), ("host", "softirq", 1.0), ("idle", "idle", 100.0)),
    intended_mbps=None,
    marks=("generator-limited",),
)
"""Raw under a flood: its thread is all that runs."""
HOGGED = replace(
    BUSY_RAW,
    platform="container",
    received_mbps=50.0,
    offered_mbps=50.0,
    threads=(("host", "ingress in0", 49.5, 50.0),),
    ledger=(
        ("host", "ingress in0", 49.5),
        ("host", "softirq", 0.5),
        ("host", "foreign", 50.0),
        ("idle", "idle", 100.0),
    ),
    marks=("backpressured",),
)
CAPPED = replace(
    CALM_RAW,
    platform="container",
    received_mbps=40.0,
    drops=(("UUT egress", 0.6, "queue full (dropped_queue of out0)"),),
)
