"""A small made-up result of every kind of workload, for tests that go through all of them."""

from collections.abc import Mapping, Sequence
from functools import partial

from tests.helpers.results.builder import Trial, make, of
from tests.helpers.results.bulk import bulk_blocks
from tests.helpers.results.echo import MadeEcho
from tests.helpers.results.forwarding import blocks
from tests.helpers.results.relay import MadeProgram, MadeRun
from tests.helpers.results.requests import both
from tests.helpers.results.traced import MadeTrace
from vtax.results import Result

TIMES_US = [10.0, 20.0, 30.0]
TRACED = "traced requests"


def _result(trials: Sequence[Trial], paper: str, scenario: str) -> partial[Result]:
    return partial(make, trials=trials, scenario=of(paper, scenario))


def _runs(made: type[MadeRun]) -> list[MadeRun]:
    """A run a block; in containers each of a length of its own, and longer."""
    return [
        made(run, [more_us + run + us for us in TIMES_US], platform=platform, block=run)
        for run in range(3)
        for platform, more_us in (("raw", 0.0), ("container", 100.0))
    ]


RESULTS: Mapping[str, partial[Result]] = {
    "forwarding": _result(
        [*blocks([90.0, 92.0, 91.0]), *blocks([60.0, 62.0, 61.0], platform="container")],
        *("schlosser2011", "dedicated"),
    ),
    "bulk": _result(
        [
            *bulk_blocks([[900.0], [905.0], [910.0]]),
            *bulk_blocks([[600.0], [605.0], [610.0]], platform="container"),
        ],
        *("anhalt2009", "sending"),
    ),
    "echo": _result(
        [
            MadeEcho(block, mean_us + block, platform=platform)
            for platform, mean_us in (("raw", 90.0), ("container", 190.0))
            for block in range(3)
        ],
        *("anhalt2009", "latency"),
    ),
    "requests": _result(both(40, 80, 60), "oljira2016", "co-located"),
    "relay": _result(_runs(MadeRun), "matthews2009", "relay"),
    "program": _result(_runs(MadeProgram), "matthews2009", "http"),
    TRACED: _result([MadeTrace(block, 5.0) for block in range(3)], "oljira2016", "breakdown"),
}
"""By the kind's name; of traced requests no trial tells of anything but stages."""
