"""Campaigns that tests of comparisons share."""

import pytest

from tests.helpers.comparisons import regressed_campaigns
from vtax.results import Result
from vtax.views.compare import read_side
from vtax.views.compare.side import Side


@pytest.fixture(scope="session")
def regressed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Result]:
    return regressed_campaigns(tmp_path_factory.mktemp("regressed"))


@pytest.fixture(scope="session")
def sides(regressed: tuple[Result, Result]) -> tuple[Side, Side]:
    """What is compared of them, read once."""
    before, after = map(read_side, regressed)
    return before, after
