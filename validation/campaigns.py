"""Campaigns of the validation: scenario files beside the parts, carried out the way `vtax run` does."""

import sys
from collections.abc import Sequence
from pathlib import Path

from vtax import campaign
from vtax.results import Result
from vtax.scenario import load_scenario
from vtax.terminal import progress_on

HERE = Path(__file__).resolve().parent


def carry_out(name: str, out: Path, changes: Sequence[str] = ()) -> Result:
    """Measure the scenario `name`.yaml of this package, `changes` as of `--set`; raises as campaign.run does."""
    scenario = load_scenario(str(HERE / f"{name}.yaml")).override(None, list(changes), None, None)
    outcome = campaign.run(scenario, out=out, seed=1, progress=progress_on(sys.stderr, plain=True))
    return Result.open(outcome.directory)
