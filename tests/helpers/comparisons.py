"""Campaigns to compare, and comparing them."""

import json
from collections.abc import Sequence
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import Made, blocks
from vtax.cli import main
from vtax.results import Result
from vtax.statistics import LEAST_CAMPAIGNS, CampaignScatter
from vtax.views.compare import ChangeVerdict, Comparison, compare, earlier, read_side

STEADY = [100.0, 100.4, 99.7, 100.2, 99.9]


def compare_results(a: Result, b: Result, **options: Any) -> Comparison:
    return compare(read_side(a), read_side(b), **options)


def made(directory: Path, by_platform: dict[str, Sequence[float]], **campaign: Any) -> Result:
    """A campaign with these received rates of each platform."""
    trials = [
        trial
        for name, rates in by_platform.items()
        for trial in blocks(rates, platform=name, offered_mbps=max(200.0, *rates))
    ]
    return make(directory, trials, **campaign)


def scaled(factor: float) -> list[float]:
    return [factor * value for value in reversed(STEADY)]


def regressed_campaigns(directory: Path) -> tuple[Result, Result]:
    """The container lost a tenth of its throughput; raw is as before."""
    before = made(directory / "a", {"raw": STEADY, "container": STEADY})
    return before, made(directory / "b", {"raw": scaled(1.0), "container": scaled(0.9)})


def again(of: Result, directory: Path, day: int) -> None:
    """Copy a campaign into a directory as one that began on another day of January 2025."""
    copytree(of.directory, directory)
    manifest = directory / "campaign.json"
    stored = {**json.loads(manifest.read_text()), "created_at": f"2025-01-{day:02}T00:00:00+00:00"}
    manifest.write_text(json.dumps(stored))


def copies(of: Result, directory: Path, count: int = 6) -> Path:
    """Make copies of a campaign below a directory that began at other times: campaigns that do not differ at all."""
    for number in range(count):
        again(of, directory / str(number), number + 1)
    return directory


def command(a: Result, b: Result, *options: str) -> int:
    """Return the exit status of a comparison, as beside earlier campaigns that do not differ at all."""
    known = CampaignScatter(0.0, LEAST_CAMPAIGNS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(earlier, "assumed_scatter", lambda *deviations: known)
        return main(["compare", str(a.directory), str(b.directory), *options])


def gate(a: Result, b: Result, rules: str, *options: str) -> int:
    """Return the exit status of a comparison with rules, as `command`."""
    return command(a, b, "--fail-on", rules, *options)


def verdicts(compared: Comparison, metric: str) -> dict[str, ChangeVerdict]:
    return {
        change.cell.split()[0].removeprefix("platform="): change.verdict
        for change in compared.changes
        if change.metric.name == metric
    }


def invalid(name: str, blocks: int = 3) -> list[Made]:
    return [Made(name, block, verdict="invalid", reasons=("clock",)) for block in range(blocks)]


def steady(name: str) -> list[Made]:
    return blocks(STEADY, platform=name, offered_mbps=200.0)


def busy(percent: float, step_percent: float) -> list[Made]:
    """Five trials with the same busy time, read to a tick."""
    row = {"host": "local", "domain": "host", "component": "total"}
    rows = ({**row, "percent": percent, "low": percent - step_percent, "high": percent + step_percent},)
    return [Made("raw", block, host_percent=None, sink_percent=None, cpu=rows) for block in range(5)]
