"""Results of forwarding in scenarios that repeat a paper's, for tests of its claims."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.helpers.results.builder import make, of
from tests.helpers.results.forwarding import Made, blocks
from vtax.results import Result

LOST = ("backpressured",)
"""So that a maximum is the platform's own."""
STEADY = [400.0, 404.0, 398.0, 402.0, 401.0]
HARMED = [200.0, 203.0, 199.0, 201.0, 200.0]


def beside(behaviour: str, rates: Sequence[float], platform: str = "container", **fixed: Any) -> list[Made]:
    """A guest that forwards so much beside a neighbour that does this."""
    further = (("neighbours", behaviour), ("load_share", "0.5"))
    fixed = {"intended_mbps": None, "offered_mbps": 1000.0, "marks": LOST, **fixed}
    return blocks(rates, platform=platform, further=further, **fixed)


def forwarded(
    directory: Path, *cells: list[Made], scenario: str = "neighbour-traffic", **more: Any
) -> Result:
    keys = {**of("schlosser2011", scenario), **more.pop("scenario_keys", {})}
    return make(directory, [made for cell in cells for made in cell], scenario=keys, **more)
