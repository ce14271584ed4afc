"""Campaigns of the validation: scenario files beside the parts, carried out the way `vtax run` does."""

import sys
from pathlib import Path

from vtax import campaign
from vtax.results import Result
from vtax.scenario import load_scenario
from vtax.terminal import progress_on

HERE = Path(__file__).resolve().parent


def carry_out(name: str, directory: Path) -> Result:
    """Measure the scenario `name`.yaml of this package; raises as campaign.run does."""
    scenario = load_scenario(str(HERE / f"{name}.yaml"))
    outcome = campaign.run(scenario, out=directory / name, progress=progress_on(sys.stderr, plain=True))
    return Result.open(outcome.directory)
