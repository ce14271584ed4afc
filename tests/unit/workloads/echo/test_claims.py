"""Findings about echoes, planted true, planted false and too noisy to tell."""

from pathlib import Path

import pytest

from tests.helpers.judged import judged
from tests.helpers.results.builder import make, of
from tests.helpers.results.echo import MadeEcho
from vtax.views.claims import ClaimVerdict

HOLDS, FAILS, UNDECIDED = ClaimVerdict.HOLDS, ClaimVerdict.FAILS, ClaimVerdict.UNDECIDED


@pytest.mark.parametrize(
    ("levels_us", "verdict"),
    [
        ({2: 100, 4: 300, 8: 900}, HOLDS),
        ({2: 100, 4: 300, 8: 150}, FAILS),
        ({2: 100, 4: 300, 8: 301}, UNDECIDED),
        ({2: 100, 4: 300}, UNDECIDED),
    ],
)
def test_a_trend(levels_us: dict[int, float], verdict: ClaimVerdict, tmp_path: Path) -> None:
    """Each step counts; a level that was not measured leaves it open, and is named."""
    trials = [
        MadeEcho(
            block, mean_us * (1 + block / 100 * (-1) ** guests_block), guests, "tcp", platform="container"
        )
        for guests_block, (guests, mean_us) in enumerate(levels_us.items())
        for block in range(4)
    ]
    found = judged(
        make(tmp_path / "r", trials, scenario=of("anhalt2009", "latency")), "busy-routers-add-delay"
    )
    judgement = found["container"]
    assert judgement.verdict is verdict
    assert judgement.missing == (() if 8 in levels_us else ("guests=8 was not measured",))
    if verdict is FAILS:
        assert judgement.decisive is not None
        assert judgement.decisive.where == "guests=4 to 8"
