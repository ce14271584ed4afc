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
    """Six blocks of five runs, so many of them with a slow round in every twenty."""
    rng = np.random.default_rng(5)
    runs = []
    for run in range(30):
        us = rng.normal(50, 1, 200)
        block = run // 5
        if block < with_lines:
            us[::20] += 50
        runs.append(MadeRun(run % 5, us.tolist(), load="output", block=block))
    found = judged(make(tmp_path / "r", runs, scenario=of("matthews2009", "null")), "output-brings-lines")[
        "raw"
    ]
    assert found.verdict is verdict
    assert found.decisive is not None
    assert (found.decisive.estimate.value, found.decisive.estimate.n) == (with_lines / 6, 6)


def of_blocks(blocks: int, counts: tuple[int, int] = (8, 5)) -> list[MadeRun]:
    """Rounds that take longer in a container, with other numbers of runs a block than the bare host's."""
    rng = np.random.default_rng(6)
    return [
        MadeRun(run, rng.normal(mean_us, 1, 20).tolist(), platform=platform, block=block)
        for platform, mean_us, count in zip(("raw", "container"), (50, 80), counts, strict=True)
        for block in range(blocks)
        for run in range(count)
    ]


def test_blocks_are_compared_whatever_runs_they_have(tmp_path: Path) -> None:
    found = judged(
        make(tmp_path / "r", of_blocks(4), scenario=of("matthews2009", "relay")), "rounds-take-longer"
    )
    assert found["container"].verdict is HOLDS
    assert found["container"].decisive is not None
    assert found["container"].decisive.estimate.n == 4


def test_one_block_decides_nothing(tmp_path: Path) -> None:
    runs = of_blocks(1, (50, 50))
    found = judged(make(tmp_path / "r", runs, scenario=of("matthews2009", "relay")), "rounds-take-longer")
    assert found["container"].verdict is UNDECIDED
