"""A small made-up result of every kind of workload, for tests that go through all of them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.helpers.results.bulk import bulk_blocks, make_bulk
from tests.helpers.results.echo import MadeEcho, echoes
from tests.helpers.results.forwarding import blocks, make
from tests.helpers.results.relay import MadeProgram, MadeRun, rounds
from tests.helpers.results.requests import both, responses
from tests.helpers.results.traced import MadeTrace, traces
from vtax.results import Result

TIMES_US = [10.0, 20.0, 30.0]


def source(paper: str, scenario: str) -> dict[str, Any]:
    """Keys of a scenario that repeats one of a paper that has claims."""
    return {"name": f"{paper}/{scenario}", "source": {"paper": paper, "section": "2"}}


def _forwarding(directory: Path) -> Result:
    scenario = {"workload": {"kind": "forwarding"}, **source("schlosser2011", "dedicated")}
    slower = blocks([60.0, 62.0, 61.0], platform="container")
    return make(directory, [*blocks([90.0, 92.0, 91.0]), *slower], scenario=scenario)


def _bulk(directory: Path) -> Result:
    slower = bulk_blocks([[600.0], [605.0], [610.0]], platform="container")
    trials = [*bulk_blocks([[900.0], [905.0], [910.0]]), *slower]
    return make_bulk(directory, trials, scenario=source("anhalt2009", "sending"))


def _echo(directory: Path) -> Result:
    slower = [MadeEcho(block, 190.0 + block, "container") for block in range(3)]
    trials = [*(MadeEcho(block, 90.0 + block) for block in range(3)), *slower]
    return echoes(directory, trials, **source("anhalt2009", "latency"))


def _requests(directory: Path) -> Result:
    return responses(directory, both(40, 80, 60), **source("oljira2016", "co-located"))


def _relay(directory: Path) -> Result:
    return rounds(directory, [MadeRun(run, TIMES_US) for run in range(3)], **source("matthews2009", "relay"))


def _program(directory: Path) -> Result:
    runs = [MadeProgram(run, TIMES_US) for run in range(3)]
    return rounds(directory, runs, workload={"kind": "program"}, **source("matthews2009", "http"))


def _traced(directory: Path) -> Result:
    return traces(
        directory, [MadeTrace(block, 5.0) for block in range(3)], **source("oljira2016", "breakdown")
    )


TRACED = "traced requests"
RESULTS: Mapping[str, Callable[[Path], Result]] = {
    "forwarding": _forwarding,
    "bulk": _bulk,
    "echo": _echo,
    "requests": _requests,
    "relay": _relay,
    "program": _program,
    TRACED: _traced,
}
"""By the kind's name; of traced requests no trial tells of anything but stages."""
