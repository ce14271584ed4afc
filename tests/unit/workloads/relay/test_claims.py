"""Findings about rounds, planted true, planted false and too noisy to tell."""

from pathlib import Path

import numpy as np
import pytest

from tests.helpers.judged import judged
from tests.helpers.results.builder import make, of
from tests.helpers.results.relay import MadeRun
from vtax.views.claims import ClaimVerdict

HOLDS, FAILS, UNDECIDED = ClaimVerdict.HOLDS, ClaimVerdict.FAILS, ClaimVerdict.UNDECIDED


@pytest.mark.parametrize(("with_lines", "verdict"), [(6, HOLDS), (0, FAILS), (3, UNDECIDED)])
def test_an_artifact(with_lines: int, verdict: ClaimVerdict, tmp_path: Path) -> None:
    """Six groups of five runs, so many of them with a slow round in every twenty."""
    rng = np.random.default_rng(5)
    runs = []
    for run in range(30):
        us = rng.normal(50, 1, 200)
        if run // 5 < with_lines:
            us[::20] += 50
        runs.append(MadeRun(run, us.tolist(), load="output"))
    found = judged(make(tmp_path / "r", runs, scenario=of("matthews2009", "null")), "output-brings-lines")[
        "raw"
    ]
    assert found.verdict is verdict
    assert found.decisive is not None
    assert (found.decisive.estimate.value, found.decisive.estimate.n) == (with_lines / 6, 6)


def test_runs_are_no_pairs(tmp_path: Path) -> None:
    """A container with other numbers of runs is compared all the same."""
    rng = np.random.default_rng(6)
    runs = [
        MadeRun(run, rng.normal(mean_us, 1, 20).tolist(), platform=platform)
        for platform, mean_us, count in (("raw", 50, 8), ("container", 80, 5))
        for run in range(count)
    ]
    found = judged(make(tmp_path / "r", runs, scenario=of("matthews2009", "relay")), "rounds-take-longer")
    assert found["container"].verdict is HOLDS
    assert found["container"].decisive is not None
    assert found["container"].decisive.estimate.n == 13
