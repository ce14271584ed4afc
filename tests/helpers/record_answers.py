"""Records the answers of short campaigns again, of the named kinds or of all: see tests/data/answers/record."""

import sys
import tempfile
from pathlib import Path

import pytest

from tests.helpers.played_kinds import ANSWERS, KINDS, scenario
from tests.helpers.played_machines import Recorder, in_phases
from tests.helpers.tolerance import judge_mildly
from vtax import campaign
from vtax.scenario import load_scenario
from vtax.terminal import progress_on


def record(kind: str) -> None:
    """Measure a campaign of a kind, and write down what its hosts and agents answered."""
    machines = Recorder()
    with tempfile.TemporaryDirectory() as made, pytest.MonkeyPatch.context() as patch:
        in_phases(machines, patch)
        asked = load_scenario(str(scenario(kind, Path(made))))
        progress = progress_on(sys.stderr, plain=True)
        outcome = campaign.run(
            asked, out=Path(made) / "out", seed=1, machines=machines, progress=progress, allow={"programs"}
        )
    if outcome.exit_status:
        raise SystemExit(f"{kind}: {outcome.unusable}")
    machines.write(ANSWERS / f"{kind}.jsonl")


if __name__ == "__main__":
    judge_mildly()
    for name in sys.argv[1:] or KINDS:
        record(name)
